// The type of a file of undici that the package describes only by its entry.

declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici'

  const pool: typeof Pool
  export default pool
}
