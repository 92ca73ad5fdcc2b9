import { parse } from 'libpg-query'
import { parseMigration } from '../src/database/migration-file.ts'

/** The first migration that these rules hold for. Earlier ones never change. */
export const RULED_FROM = 51
/**
 * Migrations that break the rules, and refuse to run beside older processes. The rules bind from the first published release
 * on, so there is none for which these would have to be done in steps.
 */
export const BEFORE_RELEASES: readonly number[] = [59]
/** A batch that is larger holds its rows for too long. */
const BATCH_ROWS_MAX = 5_000
const REASON = /^-- Serves releases from \d{4} on: \S/

/** A part of the tree that PostgreSQL's own parser makes of a statement: a kind with its fields. */
interface Node {
  [field: string]: unknown
}
interface Statement {
  kind: string
  fields: Node
}

/** Faults of a migration, in words for its author. */
export async function findProblems(fileName: string, text: string): Promise<string[]> {
  const migration = parseMigration(fileName, text)
  const problems: string[] = []
  if (migration.serves === null)
    problems.push('its first line does not say "-- Serves releases from NNNN on.", see CONTRIBUTING.md')
  else if (migration.serves > migration.version)
    problems.push(`it serves releases from ${migration.serves}, which is newer than itself`)

  const within = await statementsOf(migration.sql)
  const created = new Set(within.filter(({ kind }) => kind === 'CreateStmt').map(tableOf))
  const isNew = (statement: Statement) => created.has(tableOf(statement))
  problems.push(...within.filter(each => !isNew(each)).flatMap(whyLong))
  const doubts = within.filter(each => !isNew(each)).flatMap(whyBreaking)
  const outside = await Promise.all(migration.outside.map(statementsOf))
  problems.push(...outside.flatMap(whyNotOutside))
  doubts.push(...outside.flat().flatMap(whyBreaking))
  if (doubts.length > 0 && !REASON.test(text))
    problems.push(
      `older releases may not work on it (${doubts.join('; ')}): say in its first line why those that it names do, ` +
        '"-- Serves releases from NNNN on: …."',
    )
  return problems
}

async function statementsOf(sql: string): Promise<Statement[]> {
  const { stmts = [] } = await parse(sql)
  return stmts.map(({ stmt }) => nodeOf(stmt))
}

/** The tree has each node as an object whose only key is its kind. */
function nodeOf(value: unknown): Statement {
  const [entry] = Object.entries(value as Node)
  return { kind: entry?.[0] ?? '', fields: (entry?.[1] ?? {}) as Node }
}

function listOf(value: unknown): Statement[] {
  return ((value ?? []) as unknown[]).map(nodeOf)
}

function tableOf({ fields }: Statement): string {
  return ((fields['relation'] ?? {}) as { relname?: string }).relname ?? ''
}

/** Why a statement of the transaction would hold up others for long. */
function whyLong(statement: Statement): string[] {
  const { kind, fields } = statement
  const table = tableOf(statement)
  if (kind === 'IndexStmt')
    return [
      `the index on ${table} stops its writes: create it concurrently after the line "-- Outside a transaction:"`,
    ]
  if (kind !== 'AlterTableStmt') return []
  return listOf(fields['cmds']).flatMap(({ fields: command }) => {
    const { kind: defined, fields: definition } = nodeOf(command['def'] ?? {})
    const isConstraint = defined === 'Constraint'
    if (isConstraint && ['CONSTR_UNIQUE', 'CONSTR_PRIMARY'].includes(String(definition['contype'])))
      return 'indexname' in definition
        ? []
        : [`the constraint on ${table} builds an index: create that concurrently first`]
    if (isConstraint && definition['skip_validation'] !== true)
      return [
        `the constraint on ${table} reads it all: add it "not valid", and validate it outside the transaction`,
      ]
    if (command['subtype'] === 'AT_AlterColumnType')
      return [`changing the type of a column writes ${table} again`]
    if (command['subtype'] === 'AT_AddColumn' && hasVolatileDefault(definition))
      return [
        `the default of ${table}.${String(definition['colname'])} writes the table again: set it in batches`,
      ]
    return []
  })
}

/** A constant and `now()` are evaluated once; other functions once for each row. */
function hasVolatileDefault(column: Node): boolean {
  return listOf(column['constraints']).some(({ fields }) => {
    const text = JSON.stringify(fields['raw_expr'] ?? {})
    return text.includes('FuncCall') && !/"sval":"now"/.test(text)
  })
}

const ADDITIVE = new Set(
  'CreateStmt IndexStmt CreateSeqStmt CommentStmt InsertStmt CreateExtensionStmt CreateStatsStmt ViewStmt VacuumStmt'.split(
    ' ',
  ),
)
const ADDITIVE_COMMANDS = new Set([
  'AT_DropNotNull',
  'AT_SetStatistics',
  'AT_SetStorage',
  'AT_SetRelOptions',
  'AT_ValidateConstraint',
])

/** Why the statements of an older release may fail after a statement. */
function whyBreaking(statement: Statement): string[] {
  const { kind, fields } = statement
  const table = tableOf(statement)
  if (kind === 'IndexStmt' && fields['unique'] === true) return [`a unique index on ${table}`]
  if (kind === 'DropStmt' && fields['removeType'] === 'OBJECT_INDEX') return []
  if (kind !== 'AlterTableStmt') return ADDITIVE.has(kind) ? [] : [`${kind} ${table}`.trim()]
  return listOf(fields['cmds']).flatMap(({ fields: command }) => {
    const subtype = String(command['subtype'])
    if (ADDITIVE_COMMANDS.has(subtype)) return []
    if (subtype !== 'AT_AddColumn') return [`${subtype} on ${table}`]
    const { fields: column } = nodeOf(command['def'])
    const kinds = new Set(listOf(column['constraints']).map(({ fields: each }) => String(each['contype'])))
    const isRequired = kinds.has('CONSTR_NOTNULL') && !kinds.has('CONSTR_DEFAULT')
    return isRequired ? [`${table}.${String(column['colname'])} is required and has no default`] : []
  })
}

/** Why a statement cannot run outside a transaction and again after it was interrupted. */
function whyNotOutside(statements: Statement[]): string[] {
  const [statement] = statements
  if (!statement || statements.length !== 1) return ['a semicolon in quotes, outside the transaction']
  const { kind, fields } = statement
  if (kind === 'IndexStmt') {
    if (fields['concurrent'] !== true)
      return [`the index on ${tableOf(statement)} is not created concurrently`]
    return fields['idxname'] === undefined ? ['an index outside the transaction needs a name'] : []
  }
  if (kind === 'DropStmt' && fields['concurrent'] === true && fields['missing_ok'] === true) return []
  if (kind === 'VacuumStmt') return []
  if (kind === 'AlterTableStmt') {
    const isValidating = listOf(fields['cmds']).every(
      ({ fields: each }) => each['subtype'] === 'AT_ValidateConstraint',
    )
    if (isValidating) return []
  }
  if (kind === 'UpdateStmt' || kind === 'DeleteStmt') {
    const limit = Number(/"limitCount":\{"A_Const":\{"ival":\{"ival":(\d+)/.exec(JSON.stringify(fields))?.[1])
    if (limit > 0 && limit <= BATCH_ROWS_MAX) return []
    return [
      `a change outside the transaction names its rows by a subselect with a limit of at most ${BATCH_ROWS_MAX}`,
    ]
  }
  return [`${kind} outside the transaction cannot be run again after it was interrupted`]
}
