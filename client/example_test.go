package client_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
)

func ExampleClient_Create() {
	create := func(ctx context.Context, url, token string) (intents.View, error) {
		relayer, err := client.New(client.Config{URL: url, Token: token})
		if err != nil {
			return intents.View{}, err
		}
		return relayer.Create(ctx, intents.Intent{ // any error: create it again, the id makes it once
			ID: "pi_0001", Route: "payouts", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
			Asset: "ETH", Amount: intents.NewAmount(1000),
		})
	}
	in, err := create(context.Background(), open().URL, open().Token)
	fmt.Println(in.ID, in.State, err)
	// Output: pi_0001 authorized <nil>
}

func ExamplePublish() {
	publish := func(ctx context.Context, nsq client.Publisher) error {
		return client.Publish(ctx, nsq, "intents.payouts", intents.Intent{ // any error: publish it again, the id makes it once
			ID: "pi_0002", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
			Asset: "ETH", Amount: intents.NewAmount(1000),
		})
	}
	fmt.Println(publish(context.Background(), open().Publisher))
	// Output: <nil>
}

func ExampleInsertTx() {
	sell := func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "insert into orders (id, payment) values ('order_7', 'pi_0003')"); err != nil {
			return err
		}
		if _, err := client.InsertTx(ctx, tx, intents.Intent{
			ID: "pi_0003", Route: "payouts", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
			Asset: "ETH", Amount: intents.NewAmount(1000),
		}); err != nil {
			return err
		}
		return tx.Commit() // order and payment are stored, or neither is
	}
	here := open()
	_, _ = here.DB.Exec("drop table if exists orders; create table orders (id text primary key, payment text not null)")
	fmt.Println(sell(context.Background(), here.DB))
	in, err := here.Store.Get(context.Background(), "pi_0003")
	fmt.Println(in.ID, in.State, err)
	// Output:
	// <nil>
	// pi_0003 authorized <nil>
}
