// The section `console` of the configuration: its JSON Schema, and what the schema cannot check.

import { isIP } from 'node:net'
import type { Context } from './config-values.ts'
import { section } from './schema-parts.ts'

export const CONSOLE_SECTION = section('The console in the browser.', {
  basePath: {
    description:
      'Path below which a proxy serves the gateway to browsers, such as `/sidegate`: for the console, the management API and single sign-on. The proxy may remove it from requests or not.',
    type: 'string',
    // Without a lookahead, which helm does not take.
    pattern: '^(?:/(?:\\.?[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\\.\\.[A-Za-z0-9._~-]+)){0,8}$',
    maxLength: 128,
    default: '',
  },
  trustedProxies: {
    description:
      'Addresses of proxies whose header `X-Forwarded-Prefix` says the path in place of `basePath`. By default there are none.',
    type: 'array',
    maxItems: 100,
    uniqueItems: true,
    items: {
      description: 'An IP address, or a network such as `10.0.0.0/8`.',
      type: 'string',
      pattern: '^[0-9A-Fa-f.:]{2,45}(?:/[0-9]{1,3})?$',
    },
    default: [],
  },
})

/** Adds a problem for each trusted proxy that is neither an IP address nor a network. */
export function rejectProxies({ add }: Context, proxies: readonly string[]): void {
  proxies.forEach((proxy, index) => {
    if (!isNetwork(proxy))
      add(
        ['console', 'trustedProxies', index],
        'must be an IP address or a network such as 10.0.0.0/8, whose length is at most 32, or 128 for IPv6',
      )
  })
}

function isNetwork(text: string): boolean {
  const [address = '', length] = text.split('/')
  const version = isIP(address)
  return version !== 0 && (length === undefined || Number(length) <= (version === 4 ? 32 : 128))
}
