// Which sidecars cannot enforce what a hub is to send them.

import t from 'tap'
import { type Needs, whyNotEnforceable } from '../../src/hub/enforceable.ts'
import type { SidecarRow } from '../../src/ledger/sidecar-ledger.ts'

const row = (name: string, features: string[], more: Partial<SidecarRow> = {}): SidecarRow =>
  ({
    name: `shop/${name}`,
    namespace: 'shop',
    features,
    hub: 'h',
    is_registered: true,
    ...more,
  }) as SidecarRow
const needs = (features: string[], namespaces: string[] | null = null): Needs => ({ features, namespaces })

t.test('connected sidecars of the namespaces are named with what they lack', async (t) => {
  const rows = [row('new', ['a', 'b']), row('old-2', ['a']), row('old-1', ['a'])]
  t.equal(whyNotEnforceable(rows, [needs(['a'])]), null)
  t.equal(whyNotEnforceable(rows, [needs(['b'], ['web'])]), null)
  t.same(whyNotEnforceable(rows, [needs(['a']), needs(['a', 'b'], ['s*']), needs(['c'], ['web'])]), {
    message: 'These sidecars cannot enforce b: shop/old-1, shop/old-2',
    place: 1,
  })
  for (const gone of [{ hub: null }, { is_registered: false }])
    t.equal(whyNotEnforceable([row('old', [], gone)], [needs(['a'])]), null)
})

t.test('many rules and many sidecars take no time', async (t) => {
  const rows = Array.from({ length: 1000 }, (_, n) => row(String(n), ['a'], { namespace: `ns-${n % 40}` }))
  const many = Array.from({ length: 5000 }, (_, n) => needs(['a', 'b'], [`ns-${n % 50}*`]))
  const begunMs = performance.now()
  const refused = whyNotEnforceable(rows, many)
  t.match(refused?.message, /^These sidecars cannot enforce b: (?:shop\/\d+, ){20}…$/)
  t.ok(performance.now() - begunMs < 1000)
})
