// `npm run bench:peers`: installs the gateways that the benchmark compares with, outside this
// repository.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PEERS_FOLDER } from './targets.ts'

const PEERS = { '@portkey-ai/gateway': '1.15.2', '@fastify/http-proxy': '11.3.0', fastify: '5.6.2' }

mkdirSync(PEERS_FOLDER, { recursive: true })
writeFileSync(join(PEERS_FOLDER, 'package.json'), JSON.stringify({ private: true, dependencies: PEERS }))
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: PEERS_FOLDER,
  stdio: 'inherit',
})
console.log(`Installed in ${PEERS_FOLDER}. npm run bench now measures them.`)
