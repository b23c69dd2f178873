// Keeps with each entry what its call changed of stored answers, for the other gateways of a fleet:
// it travels to a hub with the entry, and goes with it.

import { type SharedChange, type StoredChange, shareChanges } from '../../keys/stored-answer.ts'
import { readJson, u64, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'

/** Writes the changes of an entry; runs inside its transaction. */
export function writeShared(
  { storedchanges }: StoreTables,
  seq: number,
  changes: readonly StoredChange[],
): void {
  const shared = shareChanges(changes)
  if (shared !== null) storedchanges.put(u64(seq), writeJson(shared))
}

/** Returns the changes of an entry; null without any. */
export function readShared({ storedchanges }: StoreTables, seq: number): readonly SharedChange[] | null {
  const row = storedchanges.get(u64(seq))
  return row === undefined ? null : readJson<readonly SharedChange[]>(row)
}
