// What surrounds the gateway's Pods: account, ways in from outside, monitors, pull secrets,
// annotations and the objects that a team adds.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type KubernetesObject, pick, prepareCharts } from './helm.ts'
import { missing } from './tools.ts'

const EXPOSED = ['-f', 'sidegate/ci/exposed-values.yaml']

const annotationsOf = ({ metadata }: KubernetesObject) =>
  (metadata as { annotations?: Record<string, string> }).annotations

t.test('the chart exposes and surrounds the gateway', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  const exposed = charts.render('sidegate', '--kube-version', '1.36', ...EXPOSED)
  const podOf = (rendered: KubernetesObject[]) => pick(rendered, 'Deployment')['spec'].template.spec
  const standalone = (...settings: string[]) =>
    charts.render('sidegate', '--set', 'mode=standalone', ...settings.flatMap((one) => ['--set', one]))

  await t.test('values that cannot work together are refused with a message that names them', async (t) => {
    const table: [settings: string, message: RegExp][] = [
      ['mode=sidecar,ingress.enabled=true', /ingress\.enabled needs mode standalone/],
      ['mode=sidecar,httpRoute.enabled=true', /httpRoute\.enabled needs mode standalone/],
      ['mode=sidecar,serviceMonitor.enabled=true', /needs mode standalone.*use podMonitor\.enabled/],
      ['serviceMonitor.enabled=true,podMonitor.enabled=true', /would scrape each Pod twice; use one/],
      ['httpRoute.enabled=true', /httpRoute\.parentRefs must name a Gateway/],
      ['standalone.service.ipFamilyPolicy=RequireDualStack', /set listen\.host to \[::\]/],
      ['standalone.service.ipFamilies={IPv6},listen.host=0.0.0.0', /listen\.host \(0\.0\.0\.0\) is not one/],
      ['standalone.dnsPolicy=None', /needs standalone\.dnsConfig\.nameservers/],
      ['ingress.labels.helm\\.sh/chart=a', /ingress\.labels: helm\.sh\/chart is set by the chart/],
      ['commonAnnotations.helm\\.sh/hook=test', /commonAnnotations: helm\.sh\/hook is set by the chart/],
    ]
    for (const [settings, message] of table) t.throws(() => standalone(settings), { message }, settings)
  })

  await t.test('the schema refuses a bad value and names its place', async (t) => {
    // helm reports all errors of a schema at once.
    const table: [setting: string, message: RegExp][] = [
      ['standalone.service.ipFamilies={IPv5}', /standalone\/service\/ipFamilies\/0/],
      ['standalone.hostAliases[0].ip=1.2.3.4', /hostAliases\/0': missing property 'hostnames'/],
      ['standalone.imagePullSecrets={mirror}', /standalone\/imagePullSecrets\/0/],
      ['standalone.serviceAccount.name=a', /serviceAccount': additional properties 'name' not allowed/],
      ['global.imagePullSecrets[0].nam=mirror', /global\/imagePullSecrets\/0/],
      ['ingress.hosts={https://llm.example.org}', /ingress\/hosts\/0/],
      ['ingress.paths={v1}', /ingress\/paths\/0/],
      ['ingress.host=a', /ingress': additional properties 'host' not allowed/],
      ['httpRoute.timeouts.request=5x', /httpRoute\/timeouts\/request/],
    ]
    const { code, stderr } = charts.helm(
      ...['template', 'sidegate', 'sidegate', ...table.flatMap(([setting]) => ['--set', setting])],
    )
    t.not(code, 0)
    for (const [setting, message] of table) t.match(stderr, message, setting)
  })

  await t.test('the Pods run as an account of their own unless another one is named', async (t) => {
    const account = pick(exposed, 'ServiceAccount')
    t.equal(podOf(exposed).serviceAccountName, account.metadata.name)
    t.equal(account['automountServiceAccountToken'], false)
    for (const [settings, name] of [
      ['standalone.serviceAccountName=gateway', 'gateway'],
      ['standalone.serviceAccount.create=false', undefined],
    ] as const) {
      const rendered = standalone(settings)
      t.equal(podOf(rendered).serviceAccountName, name, settings)
      t.notOk(
        rendered.some(({ kind }) => kind === 'ServiceAccount'),
        settings,
      )
    }
  })

  await t.test('a registry for all charts of a parent wins everywhere', async (t) => {
    const image = 'mirror.example.com/platform/sidegate:0'
    t.match(podOf(exposed).containers[0].image, image)
    t.match(pick(exposed, 'Pod')['spec'].containers[0].image, image)
    const app = charts.render('examples/app', '--set', 'global.imageRegistry=mirror.example.com')
    t.match(podOf(app).initContainers[0].image, 'mirror.example.com/sidegate:')
    const shared = ['--set', 'validation.enabled=true,global.imageRegistry=mirror.example.com']
    const policy = pick(
      charts.render('sidegate', '--kube-version', '1.36', ...shared),
      'ValidatingAdmissionPolicy',
    )
    t.match(JSON.stringify(policy), 'c.image.startsWith(\\"mirror.example.com/sidegate:\\")')
  })

  await t.test('pull secrets of the parent, the image and the Pods come together', async (t) => {
    const secrets = ['mirror', 'shared', 'team', 'deployment'].map((name) => ({ name }))
    t.same(podOf(exposed).imagePullSecrets, secrets)
    t.same(pick(exposed, 'Pod')['spec'].imagePullSecrets, secrets, 'the Pod of helm test')
  })

  await t.test('an app’s chart takes pull secrets and annotations from the library', async (t) => {
    const file = join(charts.folder, 'examples/app/templates/deployment.yaml')
    const line = '      imagePullSecrets: {{- include "sidegate-lib.imagePullSecrets" . | nindent 8 }}\n'
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/^ +shareProcessNamespace/m, (text) => line + text),
    )
    const render = (...settings: string[]) =>
      pick(charts.render('examples/app', ...settings.flatMap((one) => ['--set', one])), 'Deployment')['spec']
        .template
    t.same(render().spec.imagePullSecrets, [], 'none')
    const { metadata, spec } = render(
      'global.imagePullSecrets[0].name=mirror,sidegate.image.pullSecrets[0].name=team',
      'sidegate.podAnnotations.example\\.com/a=b,sidegate.configChecksum=1e3',
    )
    t.same(spec.imagePullSecrets, [{ name: 'mirror' }, { name: 'team' }])
    t.same(metadata.annotations, { 'example.com/a': 'b', 'sidegate.dev/config-checksum': '1e3' })
  })

  await t.test('the Ingress and the route lead to a port of the Service', async (t) => {
    const { metadata, spec } = pick(exposed, 'Service', 'sidegate')
    const [port] = spec.ports
    const ingress = pick(exposed, 'Ingress')['spec']
    const backends = ingress.rules.flatMap(({ http }: any) => http.paths.map(({ backend }: any) => backend))
    t.equal(backends.length, 2)
    for (const { service } of backends)
      t.same(service, { name: metadata.name, port: { name: port.name } }, 'the Ingress')
    const [rule] = pick(exposed, 'HTTPRoute')['spec'].rules
    t.same(rule.backendRefs, [{ name: metadata.name, port: port.port }])
    t.same(
      rule.matches.map(({ path }: any) => path.value),
      ['/v1'],
      'the management API stays inside',
    )
    t.same(rule.timeouts, { request: '900s', backendRequest: '900s' })
    const any = standalone('ingress.enabled=true,httpRoute.enabled=true,httpRoute.parentRefs[0].name=edge')
    t.equal(pick(any, 'Ingress')['spec'].rules[0].host, undefined, 'any host')
    t.same(Object.keys(pick(any, 'HTTPRoute')['spec']), ['parentRefs', 'rules'], 'hosts of the Gateway')
  })

  await t.test('the Service names IP families, and TLS as the protocol of its port', async (t) => {
    t.match(pick(exposed, 'Service', 'sidegate')['spec'], {
      ...{ ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] },
      ports: [{ appProtocol: undefined }],
    })
    const pair = '{certificate: {file: /tls/tls.crt}, key: {file: /tls/tls.key}}'
    const folder = t.testdir({ 'tls.yaml': `mode: standalone\nconfig: {listen: {tls: ${pair}}}\n` })
    const tls = charts.render('sidegate', '-f', join(folder, 'tls.yaml'))
    t.equal(pick(tls, 'Service')['spec'].ports[0].appProtocol, 'https')
  })

  await t.test('the ServiceMonitor selects one Service, with Pods that are not ready', async (t) => {
    const { selector, endpoints } = pick(exposed, 'ServiceMonitor')['spec']
    const selected = exposed.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(selector.matchLabels).every(
          ([name, value]) => (metadata.labels as Record<string, unknown>)[name] === value,
        ),
    )
    t.same(
      selected.map(({ metadata }) => metadata.name),
      ['sidegate-metrics'],
    )
    const [service] = selected
    t.match(service?.['spec'], { clusterIP: 'None', publishNotReadyAddresses: true })
    t.equal(service?.['spec'].ports[0].name, endpoints[0].port)
    t.same(service?.['spec'].selector, pick(exposed, 'Service', 'sidegate')['spec'].selector)
  })

  await t.test('every object and Pod has the common annotations, and its own win', async (t) => {
    const all = ['mode=sidecar', 'podMonitor.enabled=true', 'dashboard.enabled=true']
    const policies = ['injection.enabled=true', 'validation.enabled=true', 'prometheusRule.enabled=true']
    const sidecar = charts.render(
      'sidegate',
      ...['--kube-version', '1.36', '--set', 'commonAnnotations.example\\.com/owner=platform'],
      ...[...all, ...policies, 'podMonitor.annotations.example\\.com/owner=metrics'].flatMap((one) => [
        '--set',
        one,
      ]),
    )
    t.ok(sidecar.length >= 10)
    const own = exposed.filter(({ metadata }) => !/-(extra|text)$/.test(metadata.name))
    for (const object of [...sidecar, ...own]) {
      const owner = object.kind === 'PodMonitor' ? 'metrics' : 'platform'
      const annotations = annotationsOf(object)
      t.equal(annotations?.['example.com/owner'], owner, `${object.kind} ${object.metadata.name}`)
    }
    const { metadata } = pick(exposed, 'Deployment')['spec'].template
    t.match(metadata.annotations, {
      'example.com/owner': 'platform',
      'example.com/a': 'b',
      'traffic.sidecar.istio.io/excludeInboundPorts': '9484',
      'sidegate.dev/config-checksum': /^[0-9a-f]{64}$/,
    })
  })

  await t.test('the Pods have their DNS, and the Pod of helm test keeps the cluster’s', async (t) => {
    t.match(podOf(exposed), {
      hostAliases: [{ ip: '10.0.0.7', hostnames: ['llm.example.com'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.53'], searches: ['example.com'] },
    })
    const fields = Object.keys(pick(exposed, 'Pod')['spec'])
    t.notOk(fields.some((name) => /^(dns|hostAliases)/.test(name)))
    const plain = Object.keys(podOf(standalone()))
    t.notOk(
      plain.some((name) => /^(dns|hostAliases|imagePullSecrets)/.test(name)),
      'none by default',
    )
  })

  await t.test('additional objects are templates', async (t) => {
    t.same(pick(exposed, 'ConfigMap', 'sidegate-extra')['data'], { service: 'sidegate' })
    t.same(pick(exposed, 'ConfigMap', 'sidegate-text')['data'], { mode: 'standalone' })
  })

  await t.test('the notes name the way in and what may be in it', async (t) => {
    const notes = (...args: string[]) => {
      const run = ['-n', 'team', '--dry-run=client', ...EXPOSED, ...args]
      const { stdout } = charts.helm('install', 'sidegate', 'sidegate', ...run)
      return stdout.slice(stdout.indexOf('NOTES:'))
    }
    const text = notes()
    t.match(text, /From outside: https:\/\/llm\.example\.org\/v1/)
    t.notMatch(text, /NetworkPolicy|speaks TLS/)
    t.match(notes('--set', 'standalone.networkPolicy.from=null'), /NetworkPolicy admits this namespace only/)
    const pair = '{"certificate":{"file":"/tls/tls.crt"},"key":{"file":"/tls/tls.key"}}'
    const tls = notes('--set-json', `config.listen.tls=${pair}`)
    t.match(tls, /base URL https:.*WARNING: the gateway speaks TLS/s)
  })
})
