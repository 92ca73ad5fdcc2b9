import type { Command } from 'commander'
import { describeSettings } from '../config/settings.ts'
import { openLog } from '../kit/log.ts'
import { type Service, startService, type StopOptions } from '../main.ts'
import { type Drain, NO_DRAIN } from '../start/api.ts'
import type { SyncPace } from '../start/sync.ts'
import { explain } from './command-error.ts'
import { findStarter, readProcessConfig } from './connect.ts'
import { type FirstKeyPlace, welcomeFirst } from './first-start.ts'
import { watchNpmParent } from './npm-parent.ts'

/** Longest waits for what is in progress. SIGTERM comes from a supervisor, and SIGINT from somebody who waits. */
const DRAIN = {
  SIGINT: { requestSeconds: 5, downloadSeconds: 5, handedOverSeconds: 5 },
  SIGTERM: { requestSeconds: 30, downloadSeconds: 120, handedOverSeconds: 120 },
} as const satisfies Record<string, Drain>
type StopSignal = keyof typeof DRAIN
/** Time to close everything after the drain. The next start cleans up the rest. */
const CLOSE_SECONDS_MAX = 20

/** The longest that a service takes to end after SIGTERM. */
export function stopSecondsMax(noticeSeconds: number, drain: Drain = DRAIN.SIGTERM): number {
  return noticeSeconds + Math.max(drain.downloadSeconds, drain.handedOverSeconds) + CLOSE_SECONDS_MAX
}

/** Ctrl-C under npm arrives twice: from the terminal, and from npm, which passes it on. */
const SAME_SIGNAL_MILLISECONDS = 1000

export function register(program: Command) {
  program
    .command('serve')
    .description('run the service')
    .addHelpText(
      'after',
      `
Settings are environment variables:
${settingLines()}

Ctrl-C (SIGINT) waits at most ${DRAIN.SIGINT.requestSeconds} seconds for requests in progress, SIGTERM ${DRAIN.SIGTERM.requestSeconds}, and ${DRAIN.SIGTERM.downloadSeconds} for downloads; a second signal ends at once.

Examples:
  $ npx waxwing serve
  $ WAXWING_PORT=9000 WAXWING_DATA_DIR=/srv/waxwing npx waxwing serve
  $ DATABASE_URL=postgres://waxwing:…@db/waxwing WAXWING_SECRET_KEY=… npx waxwing serve`,
    )
    .action(() => serve())
}

/** @param pace given by tests only */
export async function serve(pace: SyncPace = {}): Promise<void> {
  const config = readProcessConfig()
  const log = openLog({ level: config.logLevel, format: config.logFormat })
  let starting: Promise<Service> | null = null
  let running: Service | null = null

  async function end(options: Required<StopOptions>, exitCode: number) {
    const { drain, noticeSeconds } = options
    const deadlineSeconds = stopSecondsMax(noticeSeconds, drain)
    setTimeout(
      () => endAtOnce('Did not stop in time; the next start recovers'),
      deadlineSeconds * 1000,
    ).unref()
    try {
      const service = await starting
      await service?.stop(options)
      process.exit(exitCode)
    } catch (error) {
      log.error({ error }, 'Did not stop cleanly; the next start recovers')
      process.exit(1)
    }
  }

  function endAtOnce(message: string) {
    log.warn(message)
    void Promise.resolve(running?.abandon()).finally(() => process.exit(1))
  }

  let hasFailed = false
  function fail(error: unknown, message: string) {
    // Errors while everything closes mean nothing new, and logging them could fail in the same way.
    if (hasFailed) return
    hasFailed = true
    log.error({ error }, message)
    void end({ drain: NO_DRAIN, noticeSeconds: 0 }, 1)
  }

  onStopSignal(
    signal => {
      log.info({ signal }, 'Stopping')
      // Load balancers need time to notice.
      const noticeSeconds = signal === 'SIGTERM' ? config.noticeSeconds : 0
      void end({ drain: DRAIN[signal], noticeSeconds }, 0)
    },
    () => endAtOnce('Ending at once'),
    () => log.info('npm, which started this service, has ended'),
  )
  process.on('uncaughtException', error => fail(error, 'An error was not caught; ending'))

  const firstKey: FirstKeyPlace = process.stdout.isTTY
    ? { print: text => process.stdout.write(text) }
    : { folder: config.dataDir, log }
  starting = startService(config, {
    log,
    pace,
    onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, firstKey),
    onLost: error => {
      process.stderr.write(`${explain(error)}\n`)
      fail(error, 'The database was lost; ending')
    },
  })
  running = await starting
}

/**
 * Distinguishes the first signal from repeated ones, which mean that the user will not wait. The end of the npm that
 * started this process counts as SIGTERM: a signal to npm was meant for the service.
 */
function onStopSignal(stop: (signal: StopSignal) => void, hurry: () => void, onNpmGone: () => void) {
  let firstAt: number | null = null
  function receive(signal: StopSignal) {
    if (firstAt === null) {
      firstAt = performance.now()
      stop(signal)
    } else if (performance.now() - firstAt > SAME_SIGNAL_MILLISECONDS) {
      hurry()
    }
  }
  process.on('SIGINT', () => receive('SIGINT'))
  process.on('SIGTERM', () => receive('SIGTERM'))
  const npm = findStarter()
  if (!npm) return
  watchNpmParent(npm, () => {
    if (firstAt !== null) return
    onNpmGone()
    receive('SIGTERM')
  })
}

function settingLines() {
  return describeSettings()
    .map(
      ({ name, fallback, meaning }) =>
        `  ${name.padEnd(30)}${meaning}\n${' '.repeat(32)}Default: ${fallback}`,
    )
    .join('\n')
}
