// The rendered objects of every example of values on every supported Kubernetes version.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/core/config.ts'
import { snapshotOf } from '../../src/rules/snapshot.ts'
import { selfSigned } from '../server/certificate.ts'
import { CHARTS, type KubernetesObject, objects, pick, prepareCharts } from './helm.ts'
import { missing } from './tools.ts'
import { restrictedViolations, schemaErrors, typeErrors } from './types.ts'

const VERSIONS = ['1.29', '1.33', '1.36']
const EXAMPLES = readdirSync(join(CHARTS, 'sidegate/ci'))

/** Kubernetes version that an example needs, from its first line. */
const neededBy = (example: string): string =>
  /^# needs: (\S+)/.exec(readFileSync(join(CHARTS, 'sidegate/ci', example), 'utf8'))?.[1] ?? '1.29'

const podOf = (object: KubernetesObject): any =>
  object.kind === 'Pod' ? object['spec'] : object['spec']?.template?.spec

t.test('the charts render valid objects', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  const values = (example: string, version: string) =>
    ['--kube-version', version, '-f', `sidegate/ci/${example}`] as const
  const all: KubernetesObject[] = []

  await t.test('every example renders on every version that it supports', async (t) => {
    for (const example of EXAMPLES) {
      for (const version of VERSIONS) {
        if (version < neededBy(example)) {
          t.throws(() => charts.text('sidegate', ...values(example, version)), {
            message: /needs .*Kubernetes 1\.3\d/,
          })
          continue
        }
        const text = charts.text('sidegate', ...values(example, version))
        const rendered = objects(text)
        t.ok(rendered.length > 0, `${example} on ${version}`)
        all.push(...rendered)
        if (version === VERSIONS.at(-1)) {
          t.equal(
            charts.text('sidegate', ...values(example, version)),
            text,
            `${example}: rendering is repeatable`,
          )
          const { code, stdout } = charts.helm('lint', '--strict', 'sidegate', ...values(example, version))
          t.equal(code, 0, stdout)
        }
      }
    }
    all.push(...charts.render('examples/app'), ...charts.render('sidegate'))
    const { code, stdout } = charts.helm('lint', '--strict', 'examples/app')
    t.equal(code, 0, stdout)
  })

  await t.test('the API accepts every value and field', async (t) => {
    for (const object of all) t.equal(await schemaErrors(object), '')
    t.equal(await typeErrors(t.testdir(), all), '')
    const wrong = { ...pick(all, 'Deployment', 'sidegate') } as any
    wrong.spec = { ...wrong.spec, replica: 3 }
    t.match(await typeErrors(t.testdir(), [wrong]), /replica/, 'the check finds an unknown field')
    wrong.spec.replicas = 'three'
    t.match(await schemaErrors(wrong), /replicas/, 'the check finds a wrong value')
  })

  await t.test('names are valid, no placeholder is left, and tests are the only hooks', async (t) => {
    for (const { kind, metadata, ...rest } of all) {
      t.match(metadata.name, /^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$/, `${kind} ${metadata.name}`)
      t.notMatch(JSON.stringify(rest), /<no value>|%!/, 'no placeholder is left')
      const { annotations = {} } = metadata as { annotations?: Record<string, string> }
      t.match(annotations['helm.sh/hook'] ?? 'test', 'test', 'tests are the only hooks')
    }
  })

  await t.test('every Pod passes restricted and writes only to its data volume', async (t) => {
    for (const object of all.filter((one) => podOf(one) !== undefined)) {
      const pod = podOf(object)
      t.same(restrictedViolations(pod), [], `${object.metadata.name} passes restricted`)
      const gateway = [...(pod.initContainers ?? []), ...pod.containers].find(
        ({ name }) => name === 'sidegate',
      )
      if (gateway === undefined) continue
      t.equal(gateway.securityContext.readOnlyRootFilesystem, true)
      t.equal(gateway.resources.limits?.cpu, undefined, 'no CPU limit')
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
        t.equal(gateway[probe].exec, undefined, 'no exec probe')
      }
      for (const mount of gateway.volumeMounts) t.equal(mount.subPath, undefined, 'subPath never updates')
      const writable = gateway.volumeMounts.filter(({ readOnly }: any) => readOnly !== true)
      t.same(
        writable.map(({ name }: any) => name),
        ['sidegate-data'],
        'only the data volume is writable',
      )
      for (const port of gateway.ports) t.ok(port.name.length <= 15)
      if (object.metadata.name === 'sidegate') {
        t.equal(pod.automountServiceAccountToken, false)
        t.equal(gateway.restartPolicy, undefined)
        t.same(Object.keys(gateway.lifecycle), ['preStop'])
        t.same(gateway.lifecycle.preStop.exec.command.slice(0, 2), ['node', '-e'])
        t.ok(pod.terminationGracePeriodSeconds >= 3 + 25 + 5, 'longer than a drain')
      } else {
        t.equal(pod.initContainers[0], gateway, 'the sidecar comes first')
        t.equal(gateway.restartPolicy, 'Always')
        t.equal(
          gateway.lifecycle,
          undefined,
          'no preStop, which would run while the app still needs the gateway',
        )
      }
    }
  })

  await t.test('the gateway accepts the rendered configuration and rules', async (t) => {
    const root = t.testdir({
      config: {},
      rules: {},
      secrets: {
        'upstream-api-key': 'k',
        'admin-token': 't'.repeat(40),
        'signing-key.pem': 'read at the start',
      },
      hub: { token: 'a.b.c', 'ca.pem': selfSigned().certificate },
    })
    for (const { metadata, data } of all.filter(({ kind }) => kind === 'ConfigMap')) {
      const text = data['sidegate.yaml']
      if (text !== undefined) {
        mkdirSync(join(root, 'config'), { recursive: true })
        writeFileSync(join(root, 'config/sidegate.yaml'), text)
        const { config, problems } = readConfig(join(root, 'config/sidegate.yaml'), {}, systemClock)
        t.same(problems, [])
        t.equal(config?.rules.path, join(root, 'rules'))
        t.equal(config?.data.path, '/var/lib/sidegate')
      }
      if (metadata.name === 'sidegate-rules') {
        const files = Object.entries<string>(data).map(([name, content]) => ({ name, text: content }))
        t.same(snapshotOf(files).problems, [])
      }
    }
  })

  await t.test('a change of the configuration restarts Pods, a change of rules does not', async (t) => {
    const checksum = (...args: string[]) =>
      pick(charts.render('sidegate', '--set', 'mode=standalone', ...args), 'Deployment').spec.template
        .metadata.annotations['sidegate.dev/config-checksum']
    const before = checksum()
    const rule = '{"rules":{"inline":[{"name":"a","type":"pii","pattern":"*","action":"block"}]}}'
    t.equal(
      checksum('--set-json', `rules=${JSON.stringify(JSON.parse(rule).rules)}`),
      before,
      'rules restart nothing',
    )
    t.not(checksum('--set', 'config.limits.drainSeconds=20'), before, 'start-time configuration restarts')
  })

  await t.test('only the gateway gets the token for a hub', async (t) => {
    const values = ['-f', 'sidegate/ci/fleet-values.yaml']
    const rendered = charts.render('sidegate', ...values, '--set', 'mode=standalone')
    const [gateway] = pick(rendered, 'Deployment')['spec'].template.spec.containers
    t.ok(gateway.volumeMounts.some(({ name }: any) => name === 'sidegate-hub'))
    const { volumes, containers, initContainers } = pick(
      charts.render('examples/app', '--set', 'sidegate.hub.audience=sidegate-hub'),
      'Deployment',
    )['spec'].template.spec
    const { projected } = volumes.find(({ name }: any) => name === 'sidegate-hub')
    const serviceAccountToken = { path: 'token', audience: 'sidegate-hub', expirationSeconds: 3600 }
    t.same(projected.sources, [{ serviceAccountToken }])
    const mounting = [...initContainers, ...containers].filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }: any) => name === 'sidegate-hub'),
    )
    t.same(
      mounting.map(({ name }: any) => name),
      ['sidegate'],
    )
    for (const set of [
      'container.hub.audience=a',
      'config.fleet.hubs={https://a},config.fleet.maxStaleSeconds=60',
    ])
      t.throws(() => charts.render('sidegate', '--set', set), { message: /go together/ })
  })

  await t.test('--set-file puts a rule file into the ConfigMap', async (t) => {
    const folder = t.testdir({
      'words.yaml': 'rules:\n  - {name: ä, type: pii, pattern: "*", action: block}\n',
    })
    const rendered = charts.render(
      'sidegate',
      '--set-file',
      `rules.files.10-words\\.yaml=${folder}/words.yaml`,
    )
    t.same(pick(rendered, 'ConfigMap', 'sidegate-rules')['data'], {
      '10-words.yaml': readFileSync(`${folder}/words.yaml`, 'utf8'),
    })
  })

  await t.test('prices come from a text, or from a ConfigMap that is owned elsewhere', async (t) => {
    const text = 'prices:\n  "b*": {input: 1, output: 2}\n  "*": {input: 0, output: 0}\n'
    const folder = t.testdir({ 'p.yaml': text })
    const pricesOf = (rendered: KubernetesObject[]) =>
      parse(pick(rendered, 'ConfigMap', 'sidegate-config')['data']['sidegate.yaml']).prices
    const own = charts.render('sidegate', '--set-file', `prices.file=${folder}/p.yaml`)
    t.same(pick(own, 'ConfigMap', 'sidegate-prices')['data'], { 'prices.yaml': text })
    t.same(pricesOf(own), { path: '../prices/prices.yaml' })
    const other = ['--set', 'prices.existingConfigMap=finance,config.prices.unknownPrice=ignore']
    const theirs = charts.render('sidegate', '--set', 'mode=standalone', ...other)
    t.same(pricesOf(theirs), { path: '../prices/prices.yaml', unknownPrice: 'ignore' })
    const { volumes } = pick(theirs, 'Deployment')['spec'].template.spec
    t.same(
      volumes.find(({ name }: any) => name === 'sidegate-prices'),
      { name: 'sidegate-prices', configMap: { name: 'finance', optional: true } },
    )
    t.equal(pricesOf(charts.render('sidegate')), undefined)
  })

  await t.test('the text of a rule file is not changed', async (t) => {
    const texts = ['  # indented\nrules: []\n', '   \n\nrules: []\n', '\tx\n', '# ends early']
    texts.push('# \u0007\n', '# a\r\n# b\r\n', 'rules: []\n...\n---\n# b\n')
    for (const text of texts) {
      const files = { 'a.yaml': text }
      const rendered = charts.render('sidegate', '--set-json', `rules.files=${JSON.stringify(files)}`)
      t.equal(pick(rendered, 'ConfigMap', 'sidegate-rules')['data']['a.yaml'], text)
    }
  })

  await t.test('strings that look like numbers or booleans stay strings', async (t) => {
    // Pipelines derive names of namespaces and releases from commits.
    const values = {
      nameOverride: '1e3',
      injection: { enabled: true },
      validation: { enabled: true },
      container: {
        configMap: '',
        upstreamSecret: { name: '12', key: '0x1' },
        adminSecret: { name: 'null', key: 'on' },
        signingSecret: { name: 'no', key: '1.5' },
        extraEnv: { NO: 'off', LARGE: 10_000_000, EXACT: 1234567.5, SMALL: 3, FLAG: true },
      },
      rules: { existingConfigMap: '12e4' },
      ...{ podMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboard: { enabled: true } },
    }
    const standalone = {
      mode: 'standalone',
      container: { ...values.container, data: { type: 'ephemeral', storageClassName: '1' } },
      standalone: { serviceAccountName: '12', priorityClassName: 'true' },
      injection: { enabled: false },
      ingress: {
        enabled: true,
        className: '1',
        hosts: ['1e3'],
        tls: [{ secretName: '0x1', hosts: ['1e3'] }],
      },
      httpRoute: { enabled: true, parentRefs: [{ name: '12', namespace: '1e3' }], hostnames: ['1e3'] },
      commonAnnotations: { a: 'true', b: '1e3' },
    }
    const claim = { type: 'existingClaim', existingClaim: '12' }
    const folder = t.testdir({
      'sidecar.json': JSON.stringify(values),
      'standalone.json': JSON.stringify({ ...values, ...standalone }),
      'claim.json': JSON.stringify({
        mode: 'standalone',
        container: { data: claim },
        standalone: { replicas: 1 },
      }),
      'app.json': JSON.stringify({
        sidegate: {
          ...values.container,
          configMap: '12',
          rulesConfigMap: 'off',
          pricesConfigMap: '1e3',
          app: { apiKeySecret: { name: '1', key: '2' } },
        },
      }),
    })
    const typed: KubernetesObject[] = []
    for (const name of ['sidecar', 'standalone', 'claim', 'app']) {
      const chart = name === 'app' ? 'examples/app' : 'sidegate'
      const args = ['-n', '12e4', '--kube-version', '1.36', '-f', join(folder, `${name}.json`)]
      const { code, stdout, stderr } = charts.helm('template', '123', chart, ...args)
      t.equal(code, 0, stderr)
      const rendered = objects(stdout)
      for (const object of rendered) t.equal(await schemaErrors(object), '')
      typed.push(...rendered)
      if (name !== 'app') continue
      t.same(pick(rendered, 'Deployment')['spec'].template.spec.initContainers[0].env.slice(1), [
        { name: 'EXACT', value: '1234567.5' },
        { name: 'FLAG', value: 'true' },
        { name: 'LARGE', value: '10000000' },
        { name: 'NO', value: 'off' },
        { name: 'SMALL', value: '3' },
      ])
    }
    t.equal(await typeErrors(folder, typed), '')
  })
})
