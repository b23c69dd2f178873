// API keys over REST: creates, lists and revokes them. Only the answer to a creation contains the
// key.

import type { JsonObject } from '../../core/json.ts'
import { isoTime, isoTimeOrNull } from '../../core/time.ts'
import type { KeyRecord, KeyStore } from '../../store/api-keys.ts'
import { type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { QueryString } from '../query-string.ts'

const MAX_NAME_CHARACTERS = 128

export function keyRoutes(keys: KeyStore): ApiRoute[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/keys',
      async answer(request) {
        const name = requireText(await readFields(request, ['name']), 'name', MAX_NAME_CHARACTERS)
        const { record, key } = await keys.create(name)
        return {
          status: 201,
          body: { id: record.id, key, name: record.name, created_at: isoTime(record.createdAtMs) },
        }
      },
    },
    {
      method: 'GET',
      path: '/api/v1/keys',
      async answer(request) {
        new QueryString(request.search, [])
        const list = keys.list().map(describe)
        return ok({ keys: list, total: list.length })
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/keys/:id',
      async answer(request) {
        return ok(describe(await keys.revoke(request.params['id'] ?? '')))
      },
    },
  ]
}

const describe = (record: KeyRecord): JsonObject => ({
  id: record.id,
  name: record.name,
  prefix: record.prefix,
  created_at: isoTimeOrNull(record.createdAtMs),
  last_used_at: isoTimeOrNull(record.lastUsedAtMs),
  revoked_at: isoTimeOrNull(record.revokedAtMs),
  state: record.revokedAtMs === null ? 'active' : 'revoked',
  source: record.source,
})
