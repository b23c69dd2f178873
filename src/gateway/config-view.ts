// Shows the configuration in force to administrators, setting by setting, without what may be
// secret.

import { isDeepStrictEqual } from 'node:util'
import { isReloadable, type ReloadableSetting } from '../core/config-changes.ts'
import { formatPath, type Path } from '../core/document.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { SchemaNode } from '../core/schema-parts.ts'
import { type ConfigState, configHealth } from './live-config.ts'

/** In the place of a value that may be secret. References to secrets are shown. */
const HIDDEN = '(hidden)'
/** Settings whose texts may be secret: values of headers and queries, hashes of keys. */
const MAY_BE_SECRET: readonly string[] = ['headers', 'query', 'sha256']
/** Between the name of a certificate and the digest by which it is compared. */
const DIGEST = / [0-9a-f]{64}$/

interface ShownConfig {
  /** What is in force, with defaults. */
  readonly settings: JsonObject
  readonly state: ConfigState
  readonly schema: SchemaNode
  readonly reloadable: readonly ReloadableSetting<string>[]
}

export function configView({ settings, state, schema, reloadable }: ShownConfig): JsonObject {
  return {
    settings: leavesOf(settings, schema, []).map(({ path, value, node }) => ({
      path: formatPath(path),
      value: withoutSecrets(value, path.at(-1)),
      description: node?.description ?? null,
      is_default: isDeepStrictEqual(value, node?.default),
      needs_restart: !isReloadable(reloadable, path),
    })),
    file: configHealth(state),
  }
}

interface Leaf {
  readonly path: Path
  readonly value: JsonValue
  readonly node: SchemaNode | undefined
}

/** A section is entered; a list, and an object with any names, is one setting. */
function leavesOf(section: JsonObject, schema: SchemaNode | undefined, above: Path): Leaf[] {
  return Object.entries(section).flatMap(([name, value]): Leaf[] => {
    const node = schema?.properties?.[name]
    const path = [...above, name]
    const isSection = node?.properties !== undefined && !('env' in node.properties)
    if (value === undefined) return []
    return isSection && isObject(value) ? leavesOf(value, node, path) : [{ path, value, node }]
  })
}

function withoutSecrets(value: JsonValue, name: Path[number] | undefined): JsonValue {
  const isHidden = MAY_BE_SECRET.includes(String(name))
  if (typeof value === 'string') return isHidden ? HIDDEN : withoutUserinfo(value.replace(DIGEST, ''))
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, undefined))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([member, one]) => [
      member,
      isHidden && typeof one === 'string' ? HIDDEN : withoutSecrets(one, member),
    ]),
  )
}

/** A URL may have a name and a password (RFC 3986 §3.2.1). */
const withoutUserinfo = (text: string): string => text.replace(/(?<=^[a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '')
