// The types of files of undici that the package describes only by its entry.

declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici'

  const pool: typeof Pool
  export default pool
}

declare module 'undici/lib/api/api-connect.js' {
  import type { Dispatcher } from 'undici'

  const connect: Dispatcher['connect']
  export default connect
}

declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import type { Dispatcher, ProxyAgent } from 'undici'

  interface Options extends ProxyAgent.Options {
    /** For a connection to the proxy, milliseconds; missing in the package's own type. */
    connectTimeout: number
  }

  const proxyAgent: new (options: Options) => Dispatcher
  export default proxyAgent
}
