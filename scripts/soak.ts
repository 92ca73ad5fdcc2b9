/**
 * `npm run soak [-- name …]` runs the tests that go on at random, or with large numbers, for longer than CI does, and every
 * file of which CI leaves out tests or cases, and then on PostgreSQL 16 what CI leaves out there; with names, only those
 * whose files have such a name. Variables of the environment win.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { findTestFiles } from '../packages/server/test/projects/test-files.ts'
import { findTestsUsing, readSources } from './import-graph.ts'

/** The module that test files import for what CI leaves out. */
const LEFT_OUT = 'packages/server/test/soak.ts'

const NUMBERS = {
  /** Also the tests with the tag `soak`, all cases, and the larger sizes. */
  WAXWING_TEST_SOAK: '1',
  /** Kills of the service and the database while messages are sent. */
  WAXWING_TEST_KILLS: '200',
  /** Random walks on each mail server and calendar server, on Google, and on Graph in two clouds. */
  WAXWING_SEEDS: '20',
  /** Entries of a mail merge, and how many merges of 1,000 are sent. */
  WAXWING_TEST_MERGE: '1000',
  WAXWING_TEST_MERGES: '20',
  /** Random walks of passes on each kind of provider. */
  WAXWING_TEST_PASSES: '300',
  /** Kills between a new token and its storing. */
  WAXWING_TEST_TOKEN_KILLS: '200',
  /** Kills of a process that has noted the refusal of a delegate's grant. */
  WAXWING_TEST_REFUSALS: '20',
  /** Events of a replayed range. */
  WAXWING_TEST_REPLAY: '1000000',
  /** Messages of a mailbox that is compared with its server. */
  WAXWING_TEST_MAILBOX: '1000000',
  /** Messages of a mailbox of Microsoft Graph that is read while it changes. */
  WAXWING_TEST_GRAPH_FOLDER: '14000',
  /** Guessed links of connect flows. */
  WAXWING_TEST_GUESSES: '10000',
  /** Cards that are written with random values and read by other programs. */
  WAXWING_TEST_CARD_WRITES: '100000',
  /** Events that are written with random values and read by another program. */
  WAXWING_TEST_EVENT_WRITES: '100000',
  /** Recurrence rules that are compared with dateutil. */
  WAXWING_TEST_RULES: '10000',
  /** Days between the offsets of a zone that other readers of its definition are compared in. */
  WAXWING_TEST_ZONE_DAYS: '1',
  /** Accounts of Google that granted their calendars to an earlier release. */
  WAXWING_TEST_UPGRADED: '5000',
  /** Mails that invite one person, who is flooded by them. */
  WAXWING_TEST_INVITATIONS: '10000',
  /** Webhooks that were changed, and are verified as another program verifies them. */
  WAXWING_TEST_MUTATIONS: '10000',
  /** Seconds of a download that goes on while its process is told to stop. */
  WAXWING_TEST_DOWNLOAD_SECONDS: '65',
}

const FILES = [
  'random-kills',
  'any-change',
  'runners-at-random',
  'any-history',
  'any-write',
  'taken-over',
  'google-calendar/upgrade',
  'halves-at-random',
  'following/pass.test',
  'verification/verification.test',
  'any-order',
  'merge-arrivals',
  'many-sends',
  'access-tokens',
  'shared-mailboxes-in-processes',
  'large-replay',
  'large-mailbox',
  'large-folder',
  'guesses',
  'rolling-restart',
  'unsubscribe-race',
  'cancel-race',
  'suppression-counts',
  'card-writes',
  'event-writes',
  'rules-at-random',
  'print-definition',
  'flood-of-invitations',
  'sdk/test/webhooks',
]

/** With these numbers, once on the newest PostgreSQL is enough. */
const ON_NEWEST = '--project=!*postgres-16*'
const ON_OLDEST = '--project=*postgres-16*'
/** Such numbers take longer than what CI waits for. */
const PATIENCE = ['--testTimeout=3600000', '--hookTimeout=3600000']

const named = process.argv.slice(2)
const sources = readSources()

/** @returns the code with which the tests ended */
async function run(project: string, files: readonly string[], env: Record<string, string>): Promise<number> {
  const vitest = spawn('vitest', ['run', project, ...PATIENCE, ...(named.length > 0 ? named : files)], {
    stdio: 'inherit',
    env: { ...env, ...process.env },
  })
  const [code] = (await once(vitest, 'exit')) as [number | null]
  return code ?? 1
}

const onNewest = await run(ON_NEWEST, [...FILES, ...findTestsUsing(LEFT_OUT, sources)], NUMBERS)
const inSoak = findTestFiles(sources).taggedInSoak.filter(
  file => named.length === 0 || named.some(name => file.includes(name)),
)
const onOldest = inSoak.length > 0 ? await run(ON_OLDEST, inSoak, { WAXWING_TEST_SOAK: '1' }) : 0
process.exit(onNewest || onOldest)
