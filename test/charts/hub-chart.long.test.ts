// The chart of hubs: its objects, the configuration that it renders, and the database of its example.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { systemClock } from '../../src/core/clock.ts'
import { parseHubConfig } from '../../src/core/hub-config.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { keySetOf, newKey } from '../hub/tokens.ts'
import { emptyDatabase, run } from '../ledger/postgres.ts'
import { selfSigned } from '../server/certificate.ts'
import { CHARTS, type KubernetesObject, pick, prepareCharts } from './helm.ts'
import { missing } from './tools.ts'
import { restrictedViolations, schemaErrors, typeErrors } from './types.ts'

const FOLDER = 'sidegate-hub/ci'
const EXAMPLES = readdirSync(join(CHARTS, FOLDER))
const podOf = (object: KubernetesObject): any =>
  object.kind === 'Pod' ? object['spec'] : object['spec']?.template?.spec

t.test('the chart of hubs', { skip: missing('helm') }, async (t) => {
  const charts = prepareCharts()
  t.teardown(charts.remove)
  const render = (...args: string[]) => charts.render('sidegate-hub', ...args)
  const all = new Map(EXAMPLES.map((name) => [name, render('-f', `${FOLDER}/${name}`)]))
  const every = [...all.values()].flat()

  await t.test('the API accepts every object, on the oldest Kubernetes too', async (t) => {
    for (const object of every) t.equal(await schemaErrors(object), '')
    t.equal(await typeErrors(t.testdir(), every), '')
    for (const name of EXAMPLES) {
      const values = ['-f', `${FOLDER}/${name}`, '--kube-version', '1.29']
      t.same(render(...values), all.get(name), `${name}: rendering is repeatable`)
      const { code, stdout } = charts.helm('lint', '--strict', 'sidegate-hub', ...values)
      t.equal(code, 0, stdout)
    }
    t.notMatch(JSON.stringify(every), /<no value>|%!/, 'no placeholder is left')
  })

  await t.test('every Pod passes restricted, writes nowhere and calls no API of the cluster', async (t) => {
    for (const object of every.filter((one) => podOf(one) !== undefined)) {
      const pod = podOf(object)
      t.same(restrictedViolations(pod), [], object.metadata.name)
      t.equal(pod.automountServiceAccountToken, false)
      for (const container of pod.containers) {
        t.equal(container.securityContext.readOnlyRootFilesystem, true)
        const mounts: any[] = container.volumeMounts ?? []
        t.ok(mounts.every(({ readOnly, subPath }) => readOnly === true && subPath === undefined))
        t.notOk(
          mounts.some(({ name }) => name === 'api'),
          'only the first step has a token',
        )
      }
    }
  })

  await t.test('hubs accept the rendered configuration', async (t) => {
    const tls = selfSigned()
    const keys = keySetOf(newKey())
    const root = t.testdir({
      ...{ config: {}, rules: {}, prices: { 'prices.yaml': '' } },
      ...{ keys: { 'cluster.json': keys }, tls: { 'tls.crt': tls.certificate, 'tls.key': tls.key } },
      secrets: {
        'database-url': 'postgres://sidegate_hub:p@db/sidegate',
        'admin-token': 't'.repeat(40),
        'signing-key.pem': newSigningKey(),
      },
    })
    writeFileSync(join(root, 'edge.json'), keys)
    for (const [name, objects] of all) {
      const text: string = objects
        .flatMap(({ data }) => data?.['hub.yaml'] ?? [])
        .at(-1)
        .replace('/etc/edge/jwks.json', join(root, 'edge.json'))
      mkdirSync(join(root, 'config'), { recursive: true })
      const { config, problems } = parseHubConfig(text, join(root, 'config/hub.yaml'), {}, systemClock)
      t.same(problems, [], name)
      t.ok(config!.join!.clusters.every(({ jwks }) => jwks !== null))
      t.equal(config!.admin.tokens.length, 1)
    }
  })

  await t.test('the migration runs before the hubs, as the owner, with nothing else', async (t) => {
    const objects = all.get('cloudnativepg-values.yaml')!
    const job = pick(objects, 'Job')
    const { annotations } = job.metadata as any
    t.match(annotations, { 'helm.sh/hook': 'pre-install,pre-upgrade' })
    const { containers, volumes } = podOf(job)
    t.same(containers[0].args.slice(0, 2), ['hub', 'migrate'])
    const [config, secrets] = volumes
    t.ok(pick(objects, 'ConfigMap', config.configMap.name).metadata.labels)
    t.same(secrets.projected.sources, [
      { secret: { name: 'sidegate-db-app', items: [{ key: 'uri', path: 'database-url' }] } },
    ])
    const hubs = JSON.stringify(podOf(pick(objects, 'Deployment')))
    t.notMatch(hubs, /sidegate-db-app/, 'hubs do not get the credential of the owner')
    t.notOk(all.get('rules-values.yaml')!.some(({ kind }) => kind === 'Job'))
  })

  await t.test('a change of the configuration restarts hubs, a change of rules does not', async (t) => {
    const sum = (...args: string[]) =>
      pick(render(...args), 'Deployment')['spec'].template.metadata.annotations[
        'sidegate.dev/config-checksum'
      ]
    const before = sum('--set', 'rules.files.a\\.yaml=rules: []')
    t.equal(sum('--set', 'rules.files.a\\.yaml=x'), before)
    t.not(sum('--set', 'rules.files.a\\.yaml=x,config.audit.retainDays=30'), before)
  })

  await t.test('values that cannot work are refused with a remedy', async (t) => {
    const cluster = (rest = '') =>
      `config.join.clusters[0].name=prod,config.join.clusters[0].issuer=x,config.join.clusters[0].allow[0].namespace=a,config.join.clusters[0].allow[0].serviceAccount=b${rest}`
    for (const [set, message] of [
      ['ports.ops=8494', /ports.hub and ports.ops are both 8494/],
      ['clusterKeys.existingConfigMap=a', /set clusterKeys.fetch: false/],
      [`clusterKeys.fetch=false,${cluster()}`, /prod has no keys/],
      ['config.prices.unknownPrice=block', /needs a price file/],
      ['rules.existingConfigMap=a,rules.files.a\\.yaml=b', /owned elsewhere/],
      ['rules.files.a=b', /does not match pattern/],
      ['listen.host=127.0.0.1', /listen\.host \(127\.0\.0\.1\) is an address that no other Pod reaches/],
      ['config=null', /missing property 'config'/],
      ['podLabels.app\\.kubernetes\\.io/name=a', /podLabels: app\.kubernetes\.io\/name is set by/],
      ['commonLabels.app\\.kubernetes\\.io/instance=a', /commonLabels: .*instance is set by the chart/],
      ['podAnnotations.sidegate\\.dev/config-checksum=a', /config-checksum is set by the chart/],
      ['prices.existingConfigMap=a,prices.file=b', /owned elsewhere/],
      ['replica=2', /replica/],
      ['config.listen.hub=x', /listen/],
    ] as const)
      t.throws(() => render('--set', set), { message }, set)
    t.throws(() => render('--set', 'image.repository='), { message: /image.repository is required/ })
  })
})

t.test('the database of the example takes the migration and the hubs', async (t) => {
  const example = readFileSync(join(CHARTS, FOLDER, 'cloudnativepg-values.yaml'), 'utf8')
  const manifest = parse(
    example
      .split('\n')
      .filter((line) => line.startsWith('#   ') && !/^# {3}(P=|kubectl| {2,}--from)/.test(line))
      .map((line) => line.slice(4))
      .join('\n'),
  )
  const { initdb } = manifest.spec.bootstrap
  const database = await emptyDatabase()
  const name = new URL(database.owner).pathname.slice(1)
  // As CloudNativePG makes database and owner, before it runs these as the superuser.
  await run(database.owner, `create role ${initdb.owner} login`)
  await run(database.owner, `alter database ${name} owner to ${initdb.owner}`)
  for (const statement of initdb.postInitApplicationSQL) await run(database.owner, statement)
  const owner = new URL(database.owner)
  owner.username = initdb.owner
  await migrate(owner.href)
  await migrate(owner.href)
  t.same(await run(database.hub, 'select count(*)::integer as count from log_head'), [{ count: 0 }])
  t.ok(stringify(manifest.spec.managed.roles).includes('sidegate_hub'))
})
