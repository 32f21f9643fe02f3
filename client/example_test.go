package client_test

import (
	"context"
	"fmt"

	"github.com/nsqrelayer/relayer/client"
	"github.com/nsqrelayer/relayer/intents"
)

// README shows the bodies of these functions, without the lines that get what they stand on: TestReadme compares them.

func ExampleClient_Create() {
	ctx, url, token := context.Background(), open().URL, open().Token

	relayer, err := client.New(client.Config{URL: url, Token: token})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := relayer.Create(ctx, intents.Intent{
		ID: "pi_0001", Route: "payouts", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
		Asset: "ETH", Amount: intents.NewAmount(1000),
	})
	if err != nil {
		fmt.Println(err) // create it again: the id makes it once
		return
	}
	fmt.Println(in.ID, in.State)

	// Output: pi_0001 authorized
}

func ExamplePublish() {
	ctx, nsq := context.Background(), open().Publisher

	err := client.Publish(ctx, nsq, "intents.payouts", intents.Intent{
		ID: "pi_0002", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
		Asset: "ETH", Amount: intents.NewAmount(1000),
	})
	if err != nil {
		fmt.Println(err) // publish it again: the id makes it once
		return
	}
	fmt.Println("nsqd has it")

	// Output: nsqd has it
}

func ExampleInsertTx() {
	ctx, db := context.Background(), open().DB
	_, _ = db.ExecContext(ctx, "create table if not exists orders (id text primary key, payment text not null)")

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "insert into orders (id, payment) values ('order_7', 'pi_0003')"); err != nil {
		fmt.Println(err)
		return
	}
	in, err := client.InsertTx(ctx, tx, intents.Intent{
		ID: "pi_0003", Route: "payouts", Account: "acct_1", Destination: "0x52908400098527886E0F7030069857D2E4169EE7",
		Asset: "ETH", Amount: intents.NewAmount(1000),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := tx.Commit(); err != nil {
		fmt.Println(err) // order and payment are stored both, or neither
		return
	}
	fmt.Println(in.ID, in.State)

	// Output: pi_0003 authorized
}
