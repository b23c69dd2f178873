// Reads keys of the configuration that are tokens of an issuer: a ServiceAccount of Kubernetes, or
// any JWT with some claims.

import { hash } from 'node:crypto'
import type { Context } from './config-values.ts'
import type { Path } from './document.ts'
import {
  type DeclaredKeySet,
  KEY_SET_SCHEMA,
  type KeySetReader,
  type KeySetSource,
} from './key-set-source.ts'

/** The tokens that stand for a key. */
export interface TokenIdentity {
  /** As tokens name it. */
  readonly issuer: string
  /** Null when it cannot be used, which is a problem of the configuration. */
  readonly keySet: KeySetSource | null
  /** One of those that tokens name. */
  readonly audience: string
  /** Null for any token with the claims. */
  readonly account: ServiceAccount | null
  /** Globs of claims, by name in order. */
  readonly claims: readonly (readonly [name: string, glob: string])[]
}

/** A ServiceAccount of Kubernetes. */
export interface ServiceAccount {
  readonly namespace: string
  readonly name: string
}

interface DeclaredIssuer {
  readonly issuer?: string
  readonly jwks?: DeclaredKeySet
  readonly audience?: string
}

/** As declared. A key is missing only in an invalid file. */
export interface DeclaredTokenKey {
  readonly serviceAccount?: DeclaredIssuer & Partial<ServiceAccount>
  readonly jwt?: DeclaredIssuer & { readonly claims?: Readonly<Record<string, string>> }
}

const MAXIMUM_CLAIMS = 16
/** Pairs of them are compared at the start, and all with each new token. */
const MAXIMUM_JWT_KEYS = 1000
/** Sets of one issuer in one place. */
const MAXIMUM_KEY_SETS = 100

const ISSUER = {
  issuer: {
    description: 'Issuer of the tokens (`iss`), exactly as they name it.',
    type: 'string',
    minLength: 1,
    maxLength: 512,
    pattern: '^[\\x21-\\x7e]+$',
  },
  jwks: KEY_SET_SCHEMA,
  audience: {
    description: 'Audience that tokens must be for (`aud`), alone or among others.',
    type: 'string',
    minLength: 1,
    maxLength: 256,
  },
} as const

const STANDS_IN = 'in place of a key: a call that sends one as its bearer, or in `x-api-key`, has this key.'

/** JSON Schemas of the tokens that stand for a key. */
export const TOKEN_KEY_SCHEMAS = {
  serviceAccount: {
    description: `Tokens of a ServiceAccount of Kubernetes ${STANDS_IN}`,
    type: 'object',
    additionalProperties: false,
    required: ['issuer', 'jwks', 'audience', 'namespace', 'name'],
    properties: {
      ...ISSUER,
      namespace: {
        description: 'Namespace of the ServiceAccount: lower-case letters, digits and `-`.',
        type: 'string',
        pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
      },
      name: {
        description: 'Name of the ServiceAccount: lower-case letters, digits, `-` and `.`.',
        type: 'string',
        pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$',
      },
    },
  },
  jwt: {
    description: `Tokens of an issuer with some claims ${STANDS_IN}`,
    type: 'object',
    additionalProperties: false,
    required: ['issuer', 'jwks', 'audience', 'claims'],
    properties: {
      ...ISSUER,
      claims: {
        description:
          'Claims that a token must have, each with a glob of its value: `*` matches any characters, `?` one; case counts. The name of a claim may lead into one, like `realm_access.roles`. One text of a list has to match.',
        type: 'object',
        minProperties: 1,
        maxProperties: MAXIMUM_CLAIMS,
        propertyNames: { type: 'string', minLength: 1, maxLength: 128 },
        additionalProperties: {
          description: 'A glob of 1 to 128 printable characters.',
          type: 'string',
          minLength: 1,
          maxLength: 128,
          pattern: '^[^\\p{C}]+$',
        },
      },
    },
  },
} as const

/** Claim of a token of Kubernetes that names its ServiceAccount. */
export const subjectOf = ({ namespace, name }: ServiceAccount): string =>
  `system:serviceaccount:${namespace}:${name}`

/** Reads the tokens of a key. Null for a key without any. */
export function readTokenIdentity(
  keySets: KeySetReader,
  path: Path,
  { serviceAccount, jwt }: DeclaredTokenKey,
): TokenIdentity | null {
  const declared = serviceAccount ?? jwt
  if (declared === undefined) return null
  const { issuer = '', jwks = {}, audience = '' } = declared
  const keySet = keySets.read(
    [...path, serviceAccount === undefined ? 'jwt' : 'serviceAccount', 'jwks'],
    jwks,
  )
  const common = { issuer, keySet, audience }
  if (serviceAccount !== undefined) {
    const { namespace = '', name = '' } = serviceAccount
    const account = { namespace, name }
    return { ...common, account, claims: [['sub', subjectOf(account)]] }
  }
  const claims = Object.entries(jwt?.claims ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
  return { ...common, account: null, claims }
}

/**
 * Returns what stands for the hash of a key that is tokens. No key has it: the text has another
 * form.
 */
export const hashTokenIdentity = ({ issuer, audience, account, claims }: TokenIdentity): string =>
  hash(
    'sha256',
    `token ${JSON.stringify([issuer, audience, account === null ? 'jwt' : 'account', claims])}`,
    'hex',
  )

/** Reports keys that one token may stand for, and more of them than are accepted. */
export function rejectUnclearTokens({ add }: Context, tokens: readonly (TokenIdentity | null)[]): void {
  const at = (index: number) => ['keys', index, tokens[index]?.account == null ? 'jwt' : 'serviceAccount']
  const accounts = new Map<string, number>()
  const claimed: number[] = []
  const sets = new Set<string>()
  tokens.forEach((token, index) => {
    if (token === null) return
    const { issuer, audience, account, keySet } = token
    sets.add(JSON.stringify([issuer, keySet?.place]))
    if (sets.size === MAXIMUM_KEY_SETS + 1)
      add([...at(index), 'jwks'], `is one more key set than the ${MAXIMUM_KEY_SETS} that are accepted`)
    if (account === null) claimed.push(index)
    else {
      const name = JSON.stringify([issuer, audience, account.namespace, account.name])
      const other = accounts.get(name)
      if (other === undefined) accounts.set(name, index)
      else add(at(index), `is also the ServiceAccount of keys[${other}]; remove one of them`)
    }
  })
  const extra = claimed[MAXIMUM_JWT_KEYS]
  if (extra !== undefined) {
    add(at(extra), `is one more than the ${MAXIMUM_JWT_KEYS} keys of this kind that are accepted`)
    return
  }
  claimed.forEach((index, position) => {
    const others = [...accounts.values(), ...claimed.slice(0, position)]
    const other = others.find((one) => mayBeOne(tokens[index]!, tokens[one]!))
    if (other !== undefined)
      add(
        [...at(index), 'claims'],
        `may match the same token as keys[${other}]; give both a claim with globs that exclude each other`,
      )
  })
}

/** Reports whether one token may match both. */
function mayBeOne(one: TokenIdentity, other: TokenIdentity): boolean {
  if (one.issuer !== other.issuer || one.audience !== other.audience) return false
  const globs = new Map(other.claims)
  return one.claims.every(([name, glob]) => {
    const theirs = globs.get(name)
    return theirs === undefined || globsMeet(glob, theirs)
  })
}

/** Reports whether a text matches both globs, in the length of one times that of the other. */
export function globsMeet(one: string, other: string): boolean {
  if (!/[*?]/.test(one + other)) return one === other
  const [first, second] = [one, other].map((glob) => [...glob.replace(/\*+/g, '*')]) as [string[], string[]]
  // Whether what begins at a place of the first glob and at each place of the second one meets.
  let meets: boolean[] = []
  for (let at = first.length; at >= 0; at--) {
    const next = meets
    meets = []
    for (let place = second.length; place >= 0; place--) {
      const [mine, theirs] = [first[at], second[place]]
      // An asterisk is empty, or takes what the other glob has here.
      if (mine === '*' || theirs === '*') meets[place] = next[place] === true || meets[place + 1] === true
      else if (mine === undefined || theirs === undefined) meets[place] = mine === theirs
      else meets[place] = (mine === '?' || theirs === '?' || mine === theirs) && next[place + 1] === true
    }
  }
  return meets[0] === true
}
