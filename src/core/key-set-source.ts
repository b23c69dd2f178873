// Reads where the public keys of an issuer of tokens are: a file, or a URL.

import { resolve } from 'node:path'
import { type Context, isLoopbackUrl } from './config-values.ts'
import type { Path } from './document.ts'
import { whyNotKeySet } from './json-web-keys.ts'
import { fileSecret, type Secret } from './secret.ts'
import { cannotBeRead } from './text-file.ts'

/** Where the keys of an issuer are. */
export interface KeySetSource {
  /** Where the configuration declares it. */
  readonly declaredAt: Path
  /** Absolute path, or a URL. */
  readonly place: string
  /** The file, which is read again when it changes; null for a URL. */
  readonly file: Secret | null
}

export interface DeclaredKeySet {
  readonly file?: string
  readonly url?: string
}

/** JSON Schema of the place of a key set. */
export const KEY_SET_SCHEMA = {
  description:
    'Public keys of the issuer, a JSON Web Key Set (RFC 7517): `{file: PATH}`, which is read again when it changes, or `{url: URL}`.',
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    file: {
      description: 'Path of a file, relative to the folder of the configuration file.',
      type: 'string',
      minLength: 1,
    },
    url: {
      description: 'URL with `https:`, or with `http:` on loopback. It is asked every five minutes.',
      type: 'string',
      minLength: 1,
      maxLength: 2048,
    },
  },
} as const

const HINT =
  'write it with: kubectl get --raw /openid/v1/jwks, or save what the jwks_uri of the issuer answers'

/** Reads key sets; those in one file are one value. */
export class KeySetReader {
  readonly #context: Context
  /** By path, or why the file cannot be used. */
  readonly #files = new Map<string, Secret | string>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Returns null for a set that cannot be used, which is reported at each place of it. */
  read(path: Path, { file, url }: DeclaredKeySet): KeySetSource | null {
    if (url !== undefined) {
      const reason = whyNotKeySetUrl(url)
      if (reason !== null) this.#context.add([...path, 'url'], reason)
      return reason === null ? { declaredAt: this.#context.origin(path), place: url, file: null } : null
    }
    if (file === undefined) return null
    const place = resolve(this.#context.folder, file)
    const opened = this.#files.get(place) ?? this.#open(place)
    this.#files.set(place, opened)
    if (typeof opened !== 'string') return { declaredAt: this.#context.origin(path), place, file: opened }
    this.#context.add([...path, 'file'], `file ${file} ${opened}; ${HINT}`)
    return null
  }

  /** Returns why the file cannot be used, if it cannot. */
  #open(place: string): Secret | string {
    try {
      const file = fileSecret(place, this.#context.clock, whyNotKeySet)
      return whyNotKeySet(file.current()) ?? file
    } catch (error) {
      // Not in the words of an absent secret: these keys are public, and a check needs them.
      return cannotBeRead(error)
    }
  }
}

/** Returns why a URL may not have the keys of an issuer; null if it may. */
function whyNotKeySetUrl(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'is not an https URL; use the jwks_uri of the issuer, like https://ci.example/jwks'
  if (url.username !== '' || url.password !== '') return 'must not carry a credential; these keys are public'
  if (url.hash !== '') return 'must have no fragment; remove what begins with #'
  if (url.protocol === 'http:' && !isLoopbackUrl(text))
    return 'must use https, because who answers decides which tokens are accepted; http is only for this machine, like http://localhost:8080/jwks'
  return null
}
