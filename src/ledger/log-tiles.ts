// The Merkle trees of the logs of a fleet in their database: tiles above level 0, entries below.
// Names tables with their schema, so that any role that may read them can.

import { Frontier } from '../audit/merkle.ts'
import type { Subtree } from '../audit/proof.ts'
import {
  keyOf,
  leafTile,
  NODE_BYTES,
  newTile,
  subtreeIn,
  TILE_NODES,
  type TileAppend,
  type TilePlace,
  tilesFor,
} from '../audit/tiles.ts'
import type { Queries } from './database.ts'
import { SCHEMA } from './schema.ts'

/** Edges of one tree, newest first; months are dropped at most once a month. */
const MAXIMUM_EDGES = 1024

/**
 * Appends to tiles. Call it in the transaction that has moved the heads of these logs, which lets
 * one of several hubs pass.
 * @throws Error (rejects) when a tile has not exactly the hashes before these
 */
export async function storeTiles(queries: Queries, appends: readonly TileAppend[]): Promise<void> {
  if (appends.length === 0) return
  const appended = await queries.rows<TilePlace & { log: string }>(
    `update ${SCHEMA}.tile
     set hashes = tile.hashes || decode(repeat('00', more.length - length(tile.hashes)), 'hex') || more.hashes
     from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::integer[], $5::bytea[], $6::boolean[])
       as more (log_id, level, index, length, hashes, is_first)
     where tile.log_id = more.log_id and tile.level = more.level and tile.index = more.index
       and (length(tile.hashes) = more.length or more.is_first and length(tile.hashes) < more.length)
     returning tile.log_id as log, tile.level, tile.index`,
    [
      appends.map(({ log }) => log),
      appends.map(({ level }) => level),
      appends.map(({ index }) => index),
      appends.map(({ position }) => position * NODE_BYTES),
      appends.map(({ hashes }) => hashes),
      appends.map(({ isFirst }) => isFirst),
    ],
  )
  const done = new Set(appended.map((place) => `${place.log}/${keyOf(place)}`))
  const fresh = appends.filter((append) => !done.has(`${append.log}/${keyOf(append)}`))
  const gap = fresh.find(({ isFirst }) => !isFirst)
  if (gap !== undefined)
    throw new Error(`tile ${keyOf(gap)} of log ${gap.log} does not have ${gap.position} hashes`)
  await queries.rows(
    `insert into ${SCHEMA}.tile (log_id, level, index, hashes)
     select * from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[])`,
    [
      fresh.map(({ log }) => log),
      fresh.map(({ level }) => level),
      fresh.map(({ index }) => index),
      fresh.map((append) => newTile(append)),
    ],
  )
}

/**
 * Computes from the nodes of a stored tree, after reading the tiles that this takes: at most 256
 * rows of entries, and one row for each other tile.
 * @param compute is called twice, first with nodes that mean nothing
 */
export async function inStoredTree<Result>(
  queries: Queries,
  log: string,
  compute: (subtree: Subtree) => Result,
): Promise<Result> {
  const edges = await storedEdges(queries, log)
  const tiles = new Map<string, Buffer | null>()
  for (const place of tilesFor(compute, edges)) tiles.set(keyOf(place), await readTile(queries, log, place))
  return compute(subtreeIn((place) => tiles.get(keyOf(place)) ?? null, edges))
}

/** Returns the edges at which leaves begin to be stored. */
async function storedEdges(queries: Queries, log: string): Promise<Frontier[]> {
  const rows = await queries.rows<{ size: number; frontier: readonly Buffer[] }>(
    `select first_seq as size, first_frontier as frontier from ${SCHEMA}.log_head
       where log_id = $1 and first_seq > 0
     union all select first_seq, frontier from ${SCHEMA}.log_cut where log_id = $1
     order by size desc limit ${MAXIMUM_EDGES}`,
    [log],
  )
  return rows.map(({ size, frontier }) => Frontier.read(size, frontier))
}

async function readTile(queries: Queries, log: string, { level, index }: TilePlace): Promise<Buffer | null> {
  if (level > 0) {
    const [row] = await queries.rows<{ hashes: Buffer }>(
      `select hashes from ${SCHEMA}.tile where log_id = $1 and level = $2 and index = $3`,
      [log, level, index],
    )
    return row?.hashes ?? null
  }
  const start = index * TILE_NODES
  const entries = await queries.rows<{ seq: number; hash: Buffer }>(
    `select seq, hash from ${SCHEMA}.entry where log_id = $1 and seq >= $2 and seq < $3 order by seq`,
    [log, start, start + TILE_NODES],
  )
  return leafTile(start, entries)
}
