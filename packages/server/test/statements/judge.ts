import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Client, DatabaseError } from 'pg'
import { clientSettings, type DatabaseAddress } from '../../src/database/pool.ts'
import type { RanStatement } from './record.ts'

/** Reads the statements that a whole run recorded on one version of PostgreSQL. */
export function readStatements(folder: string, version: string): RanStatement[] {
  const place = path.join(folder, version)
  if (!existsSync(place)) return []
  return globSync('*.json', { cwd: place }).map(
    name => JSON.parse(readFileSync(path.join(place, name), 'utf8')) as RanStatement,
  )
}

/** Finds the statements that ran on the newest PostgreSQL only, in the order of their files. */
export function findMissing(
  onNewest: readonly RanStatement[],
  onOldest: readonly RanStatement[],
): RanStatement[] {
  const known = new Set(onOldest.map(({ text }) => text))
  return onNewest
    .filter(({ text }) => !known.has(text))
    .toSorted((one, other) => (one.origin + one.text < other.origin + other.text ? -1 : 1))
}

export interface RefusedStatement extends RanStatement {
  message: string
}

/**
 * Finds the statements that a server refuses to plan. Nothing is executed. The server infers the types of parameters, as it
 * does for the service. Partitions that are made as time passes are planned as the default one.
 */
export async function findRefused(
  address: DatabaseAddress,
  statements: readonly RanStatement[],
): Promise<RefusedStatement[]> {
  const client = new Client(clientSettings(address, 'waxwing test'))
  await client.connect()
  try {
    const refused: RefusedStatement[] = []
    for (const statement of statements) {
      try {
        await client.query(
          `explain (generic_plan) ${statement.raw.replaceAll(/\bevent_\d+\b/g, 'event_default')}`,
        )
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        refused.push({ ...statement, message: error.message })
      }
    }
    return refused
  } finally {
    await client.end()
  }
}
