// Containers in which tools of messages ran: the provider keeps them, and later calls name them
// (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/code-execution-tool). It keeps no
// messages.

import { GatewayError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { plainName } from '../body-fields.ts'
import { isStoredId, type StoredFormat, type StoredReference } from '../stored-format.ts'

const notFound = (shown: string | null): GatewayError =>
  new GatewayError('not_found', `Container${shown === null ? '' : ` with id '${shown}'`} not found.`, {
    param: 'container',
  })

/** The ids that a request or an answer names: as `container`, or as the `id` in it. */
function idsIn({ container }: JsonObject): string[] {
  if (typeof container === 'string') return [container]
  const members = isObject(container ?? null) ? Object.entries(container as JsonObject) : []
  return members.flatMap(([name, id]) => (plainName(name) === 'id' && typeof id === 'string' ? [id] : []))
}

export const MESSAGE_CONTAINERS: StoredFormat = {
  operations: [],
  *readRequest(body) {
    const items = idsIn(body).map((id): StoredReference => ({ id, notFound }))
    return { isKept: false, isBackground: false, continued: null, items, repeated: [] }
  },
  idsOf: () => null,
  containersOf: (message) => idsIn(message).filter(isStoredId),
  isPending: () => false,
  notFound,
}
