// Finds what a request says about tool servers: their addresses and credentials. The provider
// connects to them, so that these must arrive unaltered, and the log must not keep them.

import { isObject, itemsIn, type JsonObject, type JsonValue } from '../core/json.ts'
import { setMember } from './text.ts'
import { toolPlaces } from './tool-places.ts'

/** What the log has in the place of an address or a credential. */
const CREDENTIAL = '[CREDENTIAL]'

/** Members of a tool server: of OpenAI's `mcp` tools, and of Anthropic's `mcp_servers`. */
const SECRETS = ['server_url', 'authorization', 'authorization_token', 'url'] as const

/** Maximum secrets of one request. */
const MAXIMUM_SECRETS = 1000

/** The secrets that were taken out of a request. */
export interface ServerSecrets {
  /** Number of tool servers. */
  readonly servers: number
  /** Puts the secrets back where they were. */
  putBack(): void
}

const NONE: ServerSecrets = { servers: 0, putBack: () => {} }

/** Replaces addresses and credentials of tool servers by a mark, in place. */
export function takeServerSecrets(body: JsonObject): ServerSecrets {
  const servers = serversIn(body)
  if (servers.length === 0) return NONE
  const taken: [JsonObject, string, string][] = []
  for (const server of servers) {
    for (const name of SECRETS) take(server, name, taken)
    const { headers } = server
    if (isObject(headers)) for (const name of Object.keys(headers)) take(headers, name, taken)
  }
  return {
    servers: servers.length,
    putBack() {
      for (const [object, name, value] of taken) setMember(object, name, value)
    },
  }
}

/** Beyond the limit a secret is a text like any other. */
function take(object: JsonObject, name: string, taken: [JsonObject, string, string][]): void {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  if (typeof value !== 'string' || value === '' || taken.length >= MAXIMUM_SECRETS) return
  taken.push([object, name, value])
  setMember(object, name, CREDENTIAL)
}

/** Tools with an address, of type `mcp`, and all that `mcp_servers` has. */
function serversIn(body: JsonObject): JsonObject[] {
  const lists = toolPlaces(body).places.flatMap(({ tools }) => itemsIn(tools))
  // Namespaces and tools that call models have lists of their own.
  const nested = lists.flatMap(({ tools, parameters }) => [
    ...itemsIn(tools),
    ...(isObject(parameters) ? itemsIn(parameters['tools']) : []),
  ])
  const found = [...lists, ...nested].filter(
    ({ type, server_url: url }) => type === 'mcp' || typeof url === 'string',
  )
  return [...new Set([...found, ...serverItems(body['mcp_servers'])])]
}

/** The items of `mcp_servers`: those of a list, or of an object in place of one. */
function serverItems(servers: JsonValue | undefined): JsonObject[] {
  if (!isObject(servers)) return itemsIn(servers)
  const items = Object.values(servers).filter(isObject)
  return items.length === 0 || typeof servers['url'] === 'string' ? [servers, ...items] : items
}
