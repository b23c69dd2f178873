# Build:  docker build -t sidegate .       (or: buildah build, podman build)
# Try:    docker run --rm -p 8484:8484 sidegate demo
# Run:    docker run -p 8484:8484 -v sidegate:/app/data -e SIDEGATE_ADMIN_TOKEN -e OPENROUTER_API_KEY sidegate
#
# --build-arg NODE_IMAGE=…      another base with Node 22.22 or later, npm and /usr/bin/env
# --build-arg NPM_REGISTRY=…    a mirror of the npm registry
# --build-arg CA_CERTIFICATE="$(cat ca.pem)"    who signs the mirror's certificate
#
# The digest is that of the image's index, not of one platform, so that --platform
# linux/amd64,linux/arm64 works. No step runs on the target platform, so nothing is emulated.
ARG NODE_IMAGE=docker.io/library/node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

# Checks types and builds dist/, with compiled code for the platform of this stage; others compile at
# start. Makes the data folder, because the last stage runs no command: a container runs as any user.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
ARG NPM_REGISTRY=
ARG CA_CERTIFICATE=
WORKDIR /build
COPY package.json package-lock.json ./
RUN if [ -n "$CA_CERTIFICATE" ]; then printf '%s\n' "$CA_CERTIFICATE" > ca.pem; export NODE_EXTRA_CA_CERTS=/build/ca.pem; fi; \
  npm ci --ignore-scripts ${NPM_REGISTRY:+--registry="$NPM_REGISTRY"}
COPY tsconfig.json .build.ts .build-console.ts ./
COPY config config
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.json \
  && node node_modules/typescript/bin/tsc -p src/console/tsconfig.json \
  && node .build.ts && mkdir -p writable/data && chmod 1777 writable/data

# The SBOM (CycloneDX) of all packages in the program, and of those what npm installs beside it, for
# the target's processor.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS dependencies
ARG TARGETARCH
ARG NPM_REGISTRY=
ARG CA_CERTIFICATE=
WORKDIR /build
COPY package.json package-lock.json .pack.ts ./
RUN if [ -n "$CA_CERTIFICATE" ]; then printf '%s\n' "$CA_CERTIFICATE" > ca.pem; export NODE_EXTRA_CA_CERTS=/build/ca.pem; fi; \
  case "${TARGETARCH:-amd64}" in amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac; \
  install() { npm install --ignore-scripts ${NPM_REGISTRY:+--registry="$NPM_REGISTRY"} "$@"; } \
  && node .pack.ts shipped && install --package-lock-only \
  && npm sbom --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json \
  && node .pack.ts installed && install --os=linux --libc=glibc --cpu="$cpu"

# Runtime image: no compiler, and only the data volume is writable.
FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="sidegate" \
  org.opencontainers.image.description="LLM gateway: redacts personal data, enforces policy rules, keeps a tamper-evident usage log"
# Each malloc arena keeps freed memory; two are enough. The demo listens where a published port leads.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 SIDEGATE_DEMO_HOST=[::]
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /build/sbom.cdx.json ./
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY config config
COPY --from=build /build/writable/ ./
USER 65532:65532
VOLUME /app/data
EXPOSE 8484 9484
# Uses the port of the sample configuration. With another `listen.ops`, pass --health-cmd. Kubernetes
# ignores this and uses its own probes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9484/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The first line of dist/main.js starts Node with its options.
ENTRYPOINT ["dist/main.js"]
# Loopback of a container is reached by nobody. The sample configuration reads the admin token from
# SIDEGATE_ADMIN_TOKEN, and without one nothing starts.
CMD ["serve", "--config", "config/sidegate.yaml", "--gateway", "[::]:8484", "--ops", "[::]:9484"]
