# The image holds one static binary. Signals reach it: exec form, no shell.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /relayer ./cmd/relayer

FROM gcr.io/distroless/static:nonroot
COPY --from=build /relayer /relayer
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/relayer"]
CMD ["run"]
