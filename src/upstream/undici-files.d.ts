// Types of the undici files that pool.ts imports; the package declares types for its entry only.

declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici'

  const pool: typeof Pool
  export default pool
}

declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici'

  const client: typeof Client
  export default client
}

declare module 'undici/lib/api/api-connect.js' {
  import type { Dispatcher } from 'undici'

  const connect: Dispatcher['connect']
  export default connect
}

declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import type { Dispatcher, ProxyAgent } from 'undici'

  interface Options extends ProxyAgent.Options {
    /** Time to connect to the proxy, milliseconds. The package's type lacks it. */
    connectTimeout: number
  }

  const proxyAgent: new (options: Options) => Dispatcher
  export default proxyAgent
}
