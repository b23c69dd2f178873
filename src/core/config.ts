// Reads the configuration file into one checked value. Collects every error; has no side effects.

import { resolve } from 'node:path'
import { type AdminToken, type DeclaredAdminToken, readAdminTokens } from './admin-tokens.ts'
import type { Clock } from './clock.ts'
import { isAmong, readConfigText, readSections } from './config-document.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'
import { type ComparableReading, type ConfigSource, comparable } from './config-source.ts'
import {
  type Address,
  readAddress,
  readInstance,
  readSecret,
  rejectHosts,
  rejectSameAddress,
  type SecretReference,
  SIGNING_KEY_HINT,
} from './config-values.ts'
import { rejectProxies } from './console-section.ts'
import type { Path } from './document.ts'
import type { RefusalStatus } from './errors.ts'
import type { PiiKind } from './finding.ts'
import { type DeclaredFleet, type FleetConfig, readFleet } from './fleet-config.ts'
import type { ON_HUB_LOSS } from './fleet-section.ts'
import { type DeclaredKey, type FileKey, readKeys, rejectSameKey } from './key-config.ts'
import { type DeclaredOidc, type OidcConfig, readOidc } from './oidc-config.ts'
import type { EmbeddingName, PlaceholderStyle } from './placeholder-style.ts'
import type { Problem } from './problem.ts'
import { readPseudonymKey } from './pseudonym-key.ts'
import { type DeclaredRecogniser, type RecogniserConfig, readRecognisers } from './recogniser-config.ts'
import type { KeptUser, RetainRule } from './retention-section.ts'
import type { Secret } from './secret.ts'
import { type DeclaredTls, readTls, type TlsTerms } from './tls-config.ts'
import { type DeclaredPassThrough, type PassThroughRule, readPassThrough } from './unscanned-paths.ts'
import { type DeclaredUpstream, readUpstreams, type UpstreamConfig } from './upstream-config.ts'

/** What limits of money do with a call for a model without a price. */
export type UnknownPrice = 'block' | 'ignore'

/** The configuration with defaults filled in, paths absolute and secrets ready to read. */
export interface Config {
  readonly file: string
  readonly listen: {
    readonly gateway: Address
    readonly ops: Address
    /** Null for plain HTTP, like `opsTls`. */
    readonly tls: TlsTerms | null
    readonly opsTls: TlsTerms | null
  }
  /** In order; at least one when there are no problems. */
  readonly upstreams: readonly UpstreamConfig[]
  readonly passThrough: readonly PassThroughRule[]
  readonly rules: {
    readonly path: string
    /** Candidate rules for shadow evaluation; null without any. */
    readonly candidatePath: string | null
    readonly apiWrites: 'overlay' | 'readonly'
  }
  /** Null without prices. */
  readonly prices: {
    readonly path: string
    readonly unknownPrice: UnknownPrice
  } | null
  readonly keys: readonly FileKey[]
  readonly pii: {
    readonly kinds: readonly PiiKind[]
    readonly binaryParts: 'pass' | 'block'
    readonly placeholders: PlaceholderStyle
    /** Null for the key of the data folder. */
    readonly pseudonymKey: Secret | null
    readonly embeddings: EmbeddingName
  }
  readonly recognisers: readonly RecogniserConfig[]
  readonly tools: { readonly servers: 'pass' | 'refuse' }
  /** Members of a body and headers that name the run of a call; the first counts. */
  readonly runs: { readonly fields: readonly string[]; readonly headers: readonly string[] }
  readonly policy: { readonly refusalStatus?: RefusalStatus }
  readonly audit: {
    readonly retainDays: number
    /** Days to keep exchanges of keys with all these labels; the first match counts. */
    readonly retain: readonly RetainRule[]
    readonly maxBytes: number
    readonly whenFull: 'refuse' | 'drop-content'
    /** `metadata`: no text of any call is stored. */
    readonly capture: 'full' | 'metadata'
    /** How the end user of a call is kept. */
    readonly user: KeptUser
    /** Members of a body that name the end user, such as `metadata.user_id`; the first counts. */
    readonly userFields: readonly string[]
    /** Interval of full verifications; 0 for none. */
    readonly verifyEverySeconds: number
    /** Ed25519 private key, PEM; null to generate one in the data folder. */
    readonly signingKey: Secret | null
  }
  /** Name of this process in the log, such as a Pod's UID. From the environment; null if unset. */
  readonly instance: string | null
  readonly data: {
    readonly path: string
    /** Size of a segment of the journal. */
    readonly segmentBytes: number
  }
  readonly admin: {
    /** The single token first. */
    readonly tokens: readonly AdminToken[]
    /** Null without single sign-on. */
    readonly oidc: OidcConfig | null
    readonly sessionTtlSeconds: number
    readonly allowedHosts: readonly string[]
  }
  /** Path of the console at its proxy, empty for none, and the proxies that may say another. */
  readonly console: { readonly basePath: string; readonly trustedProxies: readonly string[] }
  /** Null without hubs. */
  readonly fleet: FleetConfig | null
  readonly limits: {
    readonly bodyBytes: number
    readonly concurrentRequests: number
    readonly drainSeconds: number
    /** What a sidecar does when no hub answers and its leases do not reach. */
    readonly onHubLoss: (typeof ON_HUB_LOSS)[number]
    /** Longest wait of a call for a hub. */
    readonly waitMs: number
  }
  readonly metrics: { readonly keyNames: boolean }
  readonly log: { readonly level: string }
}

/** The value of the file, with defaults. */
type Declared = Omit<
  Config,
  | 'file'
  | 'listen'
  | 'passThrough'
  | 'upstreams'
  | 'rules'
  | 'prices'
  | 'keys'
  | 'pii'
  | 'recognisers'
  | 'audit'
  | 'instance'
  | 'admin'
  | 'fleet'
> & {
  fleet?: DeclaredFleet
  keys: readonly DeclaredKey[]
  recognisers: readonly DeclaredRecogniser[]
  /** Invalid without a path. */
  prices?: { path?: string; unknownPrice: UnknownPrice }
  rules: Omit<Config['rules'], 'candidatePath'> & { candidatePath?: string }
  listen: { gateway: string; ops: string; tls?: DeclaredTls; opsTls?: DeclaredTls }
  upstream?: DeclaredUpstream
  upstreams?: readonly DeclaredUpstream[]
  passThrough: readonly DeclaredPassThrough[]
  pii: Omit<Config['pii'], 'pseudonymKey'> & { pseudonymKey?: Pick<SecretReference, 'file'> }
  audit: Omit<Config['audit'], 'signingKey'> & { signingKey?: SecretReference }
  admin: Omit<Config['admin'], 'tokens' | 'oidc'> & {
    token?: SecretReference
    oidc?: DeclaredOidc
    tokens: readonly DeclaredAdminToken[]
  }
}

/** Result of reading. `config` is usable only if there are no problems. */
export interface ConfigReading extends ComparableReading<Config> {
  /** Present if the file matches the schema, even if a secret is missing. */
  readonly config: Config | null
  /** The same with defaults for invalid values, to find more errors only. Null if unreadable. */
  readonly partial: Config | null
  /** Null for a text without a file. */
  readonly source: ConfigSource<ConfigReading> | null
  /** Creates a problem at a key of the file, for errors found elsewhere, such as a busy port. */
  problemAt(path: Path, message: string): Problem
}

/** Reads and checks a configuration file. Reports every error as a problem. */
export function readConfig(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): ConfigReading {
  const text = readConfigText(file)
  if (typeof text !== 'string') return { ...UNUSABLE, ...text }
  const parse = (other: string) => parseConfig(other, file, env, clock)
  return { ...parse(text), source: { file, text, parse } }
}

const UNUSABLE = { config: null, partial: null, settings: null, included: [], source: null } as const

/** Checks text like readConfig. Problems name `file`, and relative paths start at its folder. */
export function parseConfig(
  text: string,
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): ConfigReading {
  const document = readSections<Declared>(text, file, CONFIG_SCHEMA, { env, clock })
  const { declared, found, problems, problemAt, context } = document
  if (declared === null) return { ...UNUSABLE, problems, problemAt }
  const { folder } = context
  const {
    listen,
    upstream,
    upstreams,
    passThrough,
    rules,
    prices,
    keys,
    pii,
    audit,
    admin,
    fleet,
    ...others
  } = declared
  const known = readUpstreams(context, upstream, upstreams)
  const config: Config = {
    ...others,
    file,
    listen: {
      gateway: readAddress(context, ['listen', 'gateway'], listen.gateway),
      ops: readAddress(context, ['listen', 'ops'], listen.ops),
      tls: readTls(context, ['listen', 'tls'], listen.tls),
      opsTls: readTls(context, ['listen', 'opsTls'], listen.opsTls),
    },
    upstreams: known,
    passThrough: readPassThrough(context, passThrough, known),
    rules: {
      ...rules,
      path: resolve(folder, rules.path),
      candidatePath: rules.candidatePath === undefined ? null : resolve(folder, rules.candidatePath),
    },
    prices: prices?.path === undefined ? null : { ...prices, path: resolve(folder, prices.path) },
    keys: readKeys(context, keys, listen.tls),
    pii: {
      ...pii,
      pseudonymKey: readPseudonymKey(context, ['pii', 'pseudonymKey'], pii.pseudonymKey),
    },
    recognisers: readRecognisers(context, declared.recognisers),
    audit: {
      ...audit,
      signingKey: readSecret(context, ['audit', 'signingKey'], audit.signingKey, SIGNING_KEY_HINT),
    },
    instance: readInstance(context),
    data: { ...declared.data, path: resolve(folder, declared.data.path) },
    admin: {
      sessionTtlSeconds: admin.sessionTtlSeconds,
      allowedHosts: admin.allowedHosts,
      tokens: readAdminTokens(context, admin.token, isAmong(found, ['admin', 'tokens']) ? [] : admin.tokens),
      oidc: readOidc(context, admin.oidc),
    },
    fleet: readFleet(context, fleet),
  }
  rejectContradictions(document, config)
  return {
    config: document.isValid ? config : null,
    partial: config,
    ...comparable(folder, declared, known),
    source: null,
    problems,
    problemAt,
  }
}

/** Adds the problems that take several settings, or more than the schema, to see. */
function rejectContradictions(
  { found, context }: Pick<ReturnType<typeof readSections>, 'found' | 'context'>,
  { listen, admin, console: page, keys }: Config,
): void {
  if (!isAmong(found, ['listen'])) rejectSameAddress(context, 'gateway', listen.gateway, listen.ops)
  // Indices differ from the file's if invalid keys were removed.
  if (!isAmong(found, ['admin'])) rejectHosts(context, admin.allowedHosts)
  if (!isAmong(found, ['console'])) rejectProxies(context, page.trustedProxies)
  if (!isAmong(found, ['keys'])) rejectSameKey(context, keys)
}
