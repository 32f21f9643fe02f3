# docker build -t relayer .                    one static binary, without the dev stack (tag lean), not root
# docker build -t relayer-sink --target sink .  the payment provider of docker-compose.yml
FROM golang:1.26 AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .

FROM source AS build
RUN CGO_ENABLED=0 go build -tags lean -trimpath -ldflags='-s -w' -o /relayer ./cmd/relayer

FROM source AS build-sink
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /sink ./cmd/sink

FROM gcr.io/distroless/static:nonroot AS sink
COPY --from=build-sink /sink /sink
USER 65532:65532
EXPOSE 8089
ENTRYPOINT ["/sink"]

# Signals reach the program: exec form, no shell. It asks itself whether it is ready: there is no curl.
FROM gcr.io/distroless/static:nonroot AS relayer
COPY --from=build /relayer /relayer
ENV RELAYER_HTTP_ADDRESS=:4480 RELAYER_LOG_FORMAT=json
USER 65532:65532
EXPOSE 4480
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/relayer", "healthcheck"]
ENTRYPOINT ["/relayer"]
CMD ["run"]
