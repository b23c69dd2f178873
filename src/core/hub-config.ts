// Reads the configuration file of a hub into one checked value. Collects every error; has no side
// effects.

import { resolve } from 'node:path'
import { type AdminToken, type DeclaredAdminToken, readAdminTokens } from './admin-tokens.ts'
import type { Clock } from './clock.ts'
import type { Config, UnknownPrice } from './config.ts'
import { isAmong, readConfigText, readSections } from './config-document.ts'
import type { ComparableReading, ConfigSource } from './config-source.ts'
import {
  type Address,
  type Context,
  readAddress,
  readSecret,
  rejectHosts,
  rejectSameAddress,
  type SecretReference,
  SIGNING_KEY_HINT,
} from './config-values.ts'
import { rejectProxies } from './console-section.ts'
import { type Path, readDocument } from './document.ts'
import { HUB_SCHEMA } from './hub-schema.ts'
import type { JsonObject } from './json.ts'
import { whyNotKeySet } from './json-web-keys.ts'
import { type DeclaredOidc, type OidcConfig, readOidc } from './oidc-config.ts'
import type { Problem } from './problem.ts'
import type { KeptUser, RetainRule } from './retention-section.ts'
import type { Secret } from './secret.ts'
import { type DeclaredTls, readTls, type TlsTerms } from './tls-config.ts'

/** A ServiceAccount, or globs of them. */
export interface AllowedAccount {
  readonly namespace: string
  readonly serviceAccount: string
}

/** A cluster whose Pods may connect. */
export interface JoinCluster {
  readonly name: string
  readonly issuer: string
  /** JSON Web Key Set (RFC 7517); null when it cannot be read, which is a problem. */
  readonly jwks: Secret | null
  readonly allow: readonly AllowedAccount[]
}

/** What the database keeps of the logs. */
interface HubAudit {
  readonly signingKey: Secret | null
  readonly retainDays: number
  readonly retain: readonly RetainRule[]
  readonly user: KeptUser
}

/** The configuration with defaults filled in and secrets ready to read. */
export interface HubConfig {
  readonly file: string
  readonly listen: {
    readonly hub: Address
    readonly ops: Address
    /** Null without TLS. */
    readonly tls: TlsTerms | null
  }
  readonly database: {
    /** Null when it cannot be read, which is a problem of the configuration. */
    readonly url: Secret | null
    readonly connections: number
  }
  readonly join: {
    readonly audience: string
    readonly clusters: readonly JoinCluster[]
  }
  /** Null without rule files. */
  readonly rules: { readonly path: string } | null
  /** Null without prices. */
  readonly prices: { readonly path: string; readonly unknownPrice: UnknownPrice } | null
  readonly console: Config['console']
  readonly admin: {
    readonly tokens: readonly AdminToken[]
    /** Null without single sign-on. */
    readonly oidc: OidcConfig | null
    readonly sessionTtlSeconds: number
    readonly allowedHosts: readonly string[]
  }
  /** The key is null when it cannot be read, which is a problem of the configuration. */
  readonly audit: HubAudit
  readonly limits: HubLimits
  readonly log: { readonly level: string }
}

/** How limits are kept over the sidecars. */
export interface HubLimits {
  /** Part of each limit that sidecars may use while no hub is heard, from 0 to 1. */
  readonly guaranteedShare: number
  readonly slotTimeoutSeconds: number
}

/** The value of the file, with defaults. A required key is missing only in an invalid file. */
interface DeclaredHub {
  readonly listen: {
    readonly hub: string
    readonly ops: string
    readonly tls?: DeclaredTls
  }
  readonly database?: { readonly url?: SecretReference; readonly connections: number }
  readonly join: {
    readonly audience: string
    readonly clusters: readonly (Omit<JoinCluster, 'jwks'> & { readonly jwks?: SecretReference })[]
  }
  /** Invalid without a path, like `prices`. */
  readonly rules?: { readonly path?: string }
  readonly prices?: { readonly path?: string; readonly unknownPrice: UnknownPrice }
  readonly console: Config['console']
  readonly admin: {
    readonly token?: SecretReference
    readonly tokens: readonly DeclaredAdminToken[]
    readonly oidc?: DeclaredOidc
    readonly sessionTtlSeconds: number
    readonly allowedHosts: readonly string[]
  }
  readonly audit?: Omit<HubAudit, 'signingKey'> & { readonly signingKey?: SecretReference }
  readonly limits: HubLimits
  readonly log: { readonly level: string }
}

/** Result of reading. `config` is usable only if there are no problems. */
export interface HubConfigReading extends ComparableReading<HubConfig> {
  /** Null if the file does not match the schema. */
  readonly config: HubConfig | null
  /** Null for a text without a file. */
  readonly source: ConfigSource<HubConfigReading> | null
  /** Creates a problem at a key of the file, for errors found elsewhere, such as a busy port. */
  problemAt(path: Path, message: string): Problem
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/
const DATABASE_HINT = 'set it to a URL like postgres://sidegate_hub:PASSWORD@HOST/DATABASE'
const JWKS_HINT = 'write it with: kubectl get --raw /openid/v1/jwks'

/** Reports whether a text begins as the URL of a PostgreSQL database. */
export const isDatabaseUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text)

/** Reports whether a file is the configuration of a hub: only that names a database. */
export function isHubConfig(file: string): boolean {
  const text = readConfigText(file)
  if (typeof text !== 'string') return false
  const { unchecked } = readDocument(text, file, {})
  return typeof unchecked === 'object' && unchecked !== null && 'database' in unchecked
}

/** Reads and checks a configuration file. Reports every error as a problem. */
export function readHubConfig(file: string, env: Context['env'], clock: Clock): HubConfigReading {
  const text = readConfigText(file)
  if (typeof text !== 'string') return { ...UNUSABLE, ...text }
  const parse = (other: string) => parseHubConfig(other, file, env, clock)
  return { ...parse(text), source: { file, text, parse } }
}

const UNUSABLE = { config: null, settings: null, included: [], source: null } as const

/** Checks text like readHubConfig. */
export function parseHubConfig(
  text: string,
  file: string,
  env: Context['env'],
  clock: Clock,
): HubConfigReading {
  const document = readSections<DeclaredHub>(text, file, HUB_SCHEMA, { env, clock })
  const { declared, found, problems, problemAt, context } = document
  if (declared === null) return { ...UNUSABLE, problems, problemAt }
  const { listen, database, join, rules, prices, console, admin, audit, limits, log } = declared
  const { folder } = context
  const config: HubConfig = {
    file,
    listen: {
      hub: readAddress(context, ['listen', 'hub'], listen.hub),
      ops: readAddress(context, ['listen', 'ops'], listen.ops),
      tls: readTls(context, ['listen', 'tls'], listen.tls),
    },
    database: {
      url: readUrl(context, database?.url),
      connections: database?.connections ?? 0,
    },
    join: {
      audience: join.audience,
      clusters: (isAmong(found, ['join']) ? [] : join.clusters).map((cluster, index) => ({
        ...cluster,
        jwks: readKeySet(context, ['join', 'clusters', index, 'jwks'], cluster.jwks),
      })),
    },
    rules: rules?.path === undefined ? null : { path: resolve(folder, rules.path) },
    prices: prices?.path === undefined ? null : { ...prices, path: resolve(folder, prices.path) },
    console,
    admin: {
      sessionTtlSeconds: admin.sessionTtlSeconds,
      allowedHosts: admin.allowedHosts,
      tokens: readAdminTokens(context, admin.token, isAmong(found, ['admin', 'tokens']) ? [] : admin.tokens),
      oidc: readOidc(context, admin.oidc),
    },
    audit: {
      retainDays: audit?.retainDays ?? 0,
      retain: audit?.retain ?? [],
      user: audit?.user ?? 'hash',
      signingKey: readSecret(context, ['audit', 'signingKey'], audit?.signingKey, SIGNING_KEY_HINT),
    },
    limits,
    log,
  }
  rejectSameNames(context, config.join.clusters)
  if (!isAmong(found, ['listen'])) {
    rejectOpenAddress(context, config.listen)
    rejectSameAddress(context, 'hub', config.listen.hub, config.listen.ops)
  }
  if (!isAmong(found, ['admin'])) rejectHosts(context, config.admin.allowedHosts)
  if (!isAmong(found, ['console'])) rejectProxies(context, config.console.trustedProxies)
  const settings = declared as unknown as JsonObject
  return { ...UNUSABLE, config: document.isValid ? config : null, settings, problems, problemAt }
}

function readUrl(context: Context, reference: SecretReference | undefined): Secret | null {
  const path = ['database', 'url']
  const secret = readSecret(context, path, reference, DATABASE_HINT)
  if (secret !== null && !isDatabaseUrl(secret.current()))
    context.add(path, `is not the URL of a PostgreSQL database; ${DATABASE_HINT}`)
  return secret
}

function readKeySet(context: Context, path: Path, reference: SecretReference | undefined): Secret | null {
  const secret = readSecret(context, path, reference, JWKS_HINT, whyNotKeySet)
  const reason = secret === null ? null : whyNotKeySet(secret.current())
  if (reason !== null) context.add(path, `${reason}; ${JWKS_HINT}`)
  return secret
}

/** The name of a cluster is part of the ids and names of its sidecars. */
function rejectSameNames({ add }: Context, clusters: readonly JoinCluster[]): void {
  clusters.forEach(({ name }, index) => {
    if (clusters.findIndex((one) => one.name === name) < index)
      add(['join', 'clusters', index, 'name'], 'is the name of another cluster; choose another one')
  })
}

/** Tokens of administrators and sidecars must not cross a network in clear. */
function rejectOpenAddress({ add }: Context, { hub, tls }: HubConfig['listen']): void {
  if (tls === null && !LOOPBACK.test(hub.host))
    add(['listen', 'hub'], 'is not a loopback address and needs listen.tls')
}
