// undici's pool by itself. The package's entry also loads fetch, WebSocket and caches, none of which is used here:
// 13 MiB of resident memory and 45 ms of every start.

import { createRequire } from 'node:module'
import type { Pool as UndiciPool } from 'undici'

export const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof UndiciPool
export type Pool = UndiciPool
