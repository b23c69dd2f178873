// Loaded into a gateway's process with --import. From SIGUSR2 on, for FAULT_MS, writes of LMDB's meta
// page fail: the descriptor that it writes them with becomes one of FAULT_FILE, as often as LMDB
// opens one. Writing to /dev/full fails with ENOSPC, writing to unmapped memory with EIO.

import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

const { FAULT_FILE = '', FAULT_MS = '' } = process.env
const SWAP_MS = 5

const isMeta = (descriptor: string): boolean => {
  try {
    const [, flags = ''] =
      /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? []
    const isSynchronous = (Number.parseInt(flags, 8) & constants.O_DSYNC) !== 0
    return isSynchronous && readlinkSync(`/proc/self/fd/${descriptor}`).endsWith('/data.mdb')
  } catch {
    return false
  }
}

function replace(descriptor: number): void {
  closeSync(descriptor)
  const others: number[] = []
  for (let made = openSync(FAULT_FILE, 'r+'); made !== descriptor; made = openSync(FAULT_FILE, 'r+'))
    others.push(made)
  for (const other of others) closeSync(other)
}

process.on('SIGUSR2', () => {
  const swap = () => readdirSync('/proc/self/fd').filter(isMeta).map(Number).forEach(replace)
  swap()
  const timer = setInterval(swap, SWAP_MS)
  setTimeout(() => clearInterval(timer), Number(FAULT_MS))
})
