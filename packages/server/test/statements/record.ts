import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { getCallSites } from 'node:util'
import { PostgresQueryCompiler } from 'kysely'
import { Connection } from 'pg'
import { afterAll, expect } from 'vitest'
import { statementNames } from '../../src/database/statement-names.ts'

/** A statement of the service, with parameters, that a test ran in its process. */
export interface RanStatement {
  /** As `normalize` makes it. */
  text: string
  /** One of the texts that were sent. */
  raw: string
  /** The file that has it, from the folder of this package. */
  origin: string
  /** The first test file that ran it. */
  ranBy: string
}

const HERE = path.resolve(import.meta.dirname, '../..')
/** Sends the statements of others. */
const CARRIER = path.join(HERE, 'src/database/unawaited.ts')
/** Kysely has some twenty frames of its own, and what it calls may have more. */
const FRAMES_MAX = 60
/** Lists of a varying number of parameters are one statement. */
const LIST = /\((?:\$, )*\$\)(?:, \((?:\$, )*\$\))*/g

/** The same for all statements that differ only in the number of their parameters, or in blanks. */
export function normalize(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replaceAll(/\$\d+/g, '$').replaceAll(LIST, '($)')
}

/** The files of the statements that were compiled in this process; null for a statement of a test. */
const origins = new Map<string, string | null>()
/** The statements that the current test file sent. */
const sent = new Set<string>()

// A worker loads this module once, for all of its test files.
if (process.env['WAXWING_TEST_STATEMENTS']) watchStatements()

/**
 * Records the statements that a test file sends to PostgreSQL in this process, in a folder for all of a run: a file for
 * each statement, written at the end of the first test file that ran it. Statements without parameters are left out: their
 * text may hold any value.
 */
export function recordStatements(folder: string, version: string): void {
  const ranBy = path.relative(HERE, expect.getState().testPath ?? '')
  afterAll(() => {
    const place = path.join(folder, version)
    mkdirSync(place, { recursive: true })
    const nameOf = statementNames(Infinity)
    for (const raw of sent) {
      const origin = origins.get(raw)
      if (!origin) continue
      const text = normalize(raw)
      const file = path.join(place, `${nameOf(text)}.json`)
      const statement: RanStatement = { text, raw, origin, ranBy }
      if (!existsSync(file)) putOnce(file, JSON.stringify(statement))
    }
    sent.clear()
  })
}

/** Kysely calls its compiler on the stack of the code that has the statement, and `pg` shows which of them were sent. */
function watchStatements(): void {
  const compile = PostgresQueryCompiler.prototype.compileQuery
  PostgresQueryCompiler.prototype.compileQuery = function (...args) {
    const query = compile.apply(this, args)
    // A test may have compiled the same text before.
    if (!origins.get(query.sql)) origins.set(query.sql, findOrigin())
    return query
  }
  watchParsed((name, text) => name && sent.add(text))
}

/** The file of the service that has a statement; null for one of a test. */
function findOrigin(): string | null {
  const caller = getCallSites(FRAMES_MAX)
    .map(({ scriptName }) => scriptName.replace(/^file:\/\//, ''))
    .find(
      file =>
        file.startsWith(HERE) &&
        !file.includes('/node_modules/') &&
        file !== import.meta.filename &&
        file !== CARRIER,
    )
  const file = path.relative(HERE, caller ?? '')
  return file.startsWith('src/') && !file.endsWith('.test.ts') ? file : null
}

/** Calls `see` with each statement that a connection prepares. Statements with parameters have a name. */
function watchParsed(see: (name: string | undefined, text: string) => void): void {
  // The types of `pg` leave this method out.
  const wire = Connection.prototype as unknown as {
    parse(this: Connection, statement: { name?: string; text: string }): unknown
  }
  const { parse } = wire
  wire.parse = function (statement) {
    see(statement.name, statement.text)
    return parse.call(this, statement)
  }
}

/** Writes a file of which no other worker can read a part. */
function putOnce(file: string, text: string): void {
  const part = `${file}.${process.pid}`
  writeFileSync(part, text)
  renameSync(part, file)
}
