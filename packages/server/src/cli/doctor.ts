import { type Command, InvalidArgumentError } from 'commander'
import { type Config, ConfigError } from '../config.ts'
import { findInstallationId } from '../database/installation-id.ts'
import type { Database } from '../database/pool.ts'
import { readProcessConfig } from './connect.ts'
import { checkBlobs } from './doctor/check-blobs.ts'
import { checkAccounts } from './doctor/check-accounts.ts'
import { checkCalendars } from './doctor/check-calendars.ts'
import { checkClock, checkDatabase, hasEmbedded, openForDoctor } from './doctor/check-database.ts'
import { checkEgress, type Target } from './doctor/check-egress.ts'
import { checkLinks } from './doctor/check-links.ts'
import { checkOAuthApps } from './doctor/check-oauth-apps.ts'
import { checkFolders } from './doctor/check-folders.ts'
import { checkSealingKey } from './doctor/check-sealing-key.ts'
import { checkSearch } from './doctor/check-search.ts'
import { checkSending } from './doctor/check-sending.ts'
import { checkService, type OwnId } from './doctor/check-service.ts'
import { checkBaseUrl, checkSettings } from './doctor/check-settings.ts'
import { CHECKS, type Finding, ok, wordsOf, wrong } from './doctor/finding.ts'

interface DoctorOptions {
  connect?: Target[]
  json?: boolean
}

const CHECK_WIDTH = Math.max(...CHECKS.map(name => name.length))
const STATE_WIDTH = 'warning'.length

export function register(program: Command) {
  registerDoctor(program, readProcessConfig)
}

/** @param readSettings those of this process, or of a test */
export function registerDoctor(program: Command, readSettings: () => Config) {
  program
    .command('doctor')
    .description('check this installation for problems, and say how to fix them')
    .option('--connect <host:port>', 'also connect to this server; may be repeated', readTarget)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Works whether the service runs or not. It changes nothing, except that it writes a small object to WAXWING_S3_BUCKET and
removes it again. The exit code is 1 if something is wrong.

Names of servers are resolved and checked against WAXWING_EGRESS_ALLOW. It connects, without logging in, to the SMTP
servers of accounts and to those named with --connect, and asks the providers whether they know the OAuth apps.

Examples:
  $ npx waxwing doctor
  $ npx waxwing doctor --connect imap.example.com:993 --connect smtp.example.com:465`,
    )
    .action(async ({ connect = [], json = false }: DoctorOptions) => {
      const findings = await examine(readSettings, connect)
      const isWrong = findings.some(({ state }) => state === 'wrong')
      console.log(json ? JSON.stringify({ healthy: !isWrong, findings }) : findings.map(show).join('\n'))
      if (isWrong) process.exitCode = 1
    })
}

async function examine(readSettings: () => Config, connect: Target[]): Promise<Finding[]> {
  let config: Config
  try {
    config = readSettings()
  } catch (error) {
    // Without settings nothing can be checked.
    const problems = error instanceof ConfigError ? error.problems : [wordsOf(error)]
    return problems.map(problem => wrong('settings', problem))
  }
  const around = [
    ...checkSettings(config),
    checkBaseUrl(config),
    checkLinks(config),
    ...(await checkFolders(config)),
  ]
  const within = await examineDatabase(config, connect)
  return [...around, ...within].toSorted(
    (one, other) => CHECKS.indexOf(one.check) - CHECKS.indexOf(other.check),
  )
}

/** The checks that need the database, or compare with it if it answers. */
async function examineDatabase(config: Config, connect: Target[]): Promise<Finding[]> {
  const isNew = !config.databaseUrl && !(await hasEmbedded(config.dataDir))
  if (isNew) {
    const finding = ok('database', 'The first start creates the embedded database.')
    return [finding, ...(await examineAround(config, connect, { database: null, isNew }))]
  }
  const opened = await openForDoctor(config).catch((error: unknown) => unreachable(config, error))
  if ('state' in opened) return [opened, ...(await examineAround(config, connect, { database: null, isNew }))]
  await using _ = opened
  const { database } = opened
  return [
    ...(await checkDatabase(database, config)),
    ...(await checkAccounts(database)),
    ...(await checkSearch(database)),
    ...(await checkCalendars(database)),
    ...(await checkOAuthApps(config, database)),
    ...(await checkSending(config, database)),
    ...(await examineAround(config, connect, { database, isNew })),
  ]
}

async function examineAround(
  config: Config,
  connect: Target[],
  found: { database: Database | null; isNew: boolean },
): Promise<Finding[]> {
  return [
    ...(await checkService(config, await findOwnId(found))),
    ...(await checkBlobs(config, found.database?.db ?? null)),
    await checkClock(found.database),
    ...(await checkSealingKey(config, found)),
    ...(await checkEgress(config, found.database, connect)),
  ]
}

async function findOwnId({ database, isNew }: { database: Database | null; isNew: boolean }): Promise<OwnId> {
  return database ? findInstallationId(database.pool) : isNew ? 'new' : null
}

function unreachable({ databaseUrl }: Config, error: unknown): Finding {
  const remedy = 'Check that it runs, accepts this machine and user, and is the database in DATABASE_URL.'
  return wrong('database', wordsOf(error), databaseUrl ? remedy : null)
}

function show({ check, state, message, remedy }: Finding): string {
  const indent = ' '.repeat(STATE_WIDTH + CHECK_WIDTH + 4)
  const lines = [message, ...(remedy === null ? [] : [`To fix: ${remedy}`])].join('\n').split('\n')
  return `${state.padEnd(STATE_WIDTH)}  ${check.padEnd(CHECK_WIDTH)}  ${lines.join(`\n${indent}`)}`
}

function readTarget(text: string, before: Target[] = []): Target[] {
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? bare
  const port = Number(digits)
  if (host && port >= 1 && port <= 65_535) return [...before, { host, port }]
  throw new InvalidArgumentError('Give host:port, such as imap.example.com:993.')
}
