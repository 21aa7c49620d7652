# syntax=docker/dockerfile:1
# One static binary on an empty image: no shell, no package manager, no root.
# Time zones are inside the binary, certificates come from the build image.
#
#   docker build -t legwork .
#   docker run -it -v legwork:/data -v "$PWD/config.yaml:/config.yaml:ro" legwork chat --config /config.yaml
#
# MCP servers that are programs of their own (npx, uvx) are not in this image:
# add them in one that is built on it.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/legwork ./cmd/legwork \
 && mkdir -m 0700 /out/data /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/legwork /legwork
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
WORKDIR /
VOLUME /data
ENTRYPOINT ["/legwork"]
CMD ["version"]
