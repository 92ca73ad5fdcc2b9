import { existsSync } from 'node:fs'
import path from 'node:path'

/** Whether npm has a package of the oldest supported PostgreSQL for this platform. */
export function hasOldestPostgres(): boolean {
  const name = `postgres16-${process.platform}-${process.arch}`
  return existsSync(path.resolve(import.meta.dirname, '../node_modules', name))
}
