import { DatabaseError } from 'pg'
import { MigrationRefused } from './schema-fit.ts'

const INSUFFICIENT_PRIVILEGE = '42501'
const FEATURE_NOT_SUPPORTED = '0A000'
const UNDEFINED_FILE = '58P01'
const EXTENSION = /\bextension "(?<name>\w+)"/

/**
 * Runs the statements of a migration. If it must not create an extension of PostgreSQL, or the server lacks it, the
 * refusal names what an administrator has to do.
 */
export async function explainingExtensions<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const problem = error instanceof DatabaseError ? extensionProblem(error) : null
    if (problem === null) throw error
    throw new MigrationRefused(`Migration ${name} needs ${problem} Nothing was changed.`, { cause: error })
  }
}

function extensionProblem({ code, message }: DatabaseError): string | null {
  const extension = EXTENSION.exec(message)?.groups?.['name']
  if (extension === undefined) return null
  if (code === INSUFFICIENT_PRIVILEGE)
    return (
      `the extension ${extension} of PostgreSQL, which this role must not create. Let an administrator run ` +
      `"create extension ${extension}" in this database, and start again.`
    )
  if (code === FEATURE_NOT_SUPPORTED || code === UNDEFINED_FILE)
    return (
      `the extension ${extension}, which the server lacks. It comes with PostgreSQL: install the package ` +
      'postgresql-contrib there, and start again.'
    )
  return null
}
