import { DatabaseError } from 'pg'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/wait-until.ts'
import { openLog } from '../kit/log.ts'
import { OutageLog } from './outage-log.ts'
import { DatabaseUnavailable } from './unavailable.ts'

interface Line {
  level: string
  message: string
  accountId?: string
  count?: number
  names?: string[]
}

const gone = new DatabaseUnavailable(new Error('connect ECONNREFUSED'), false)

/** An outage log of a database that is away until `comeBack`. */
function openOutageLog(reportSeconds = 3600) {
  const lines: Line[] = []
  let isAway = true
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) }
  const outages = new OutageLog({
    log: openLog({ level: 'debug', format: 'json', destination }),
    ask: () => (isAway ? Promise.reject(gone) : Promise.resolve()),
    lookSeconds: 0.01,
    reportSeconds,
  })
  return {
    log: outages.log,
    lines: (...levels: string[]) => lines.filter(({ level }) => levels.includes(level)),
    comeBack: () => void (isAway = false),
    [Symbol.dispose]: () => outages[Symbol.dispose](),
  }
}

const STILL = 'The database still cannot be reached'
const AGAIN = 'The database can be reached again'

describe('OutageLog', () => {
  test('reports an outage that lasts, with what failed in it, and writes the failures at level debug', async () => {
    using outages = openOutageLog(0.05)
    const { log, lines } = outages
    log.child({ accountId: 'one' }).error({ error: new Error('Failed', { cause: gone }) }, 'A pass failed')
    log.warn({ error: gone }, 'A request was refused')
    log.warn({ error: gone }, 'A request was refused')
    const names = ['2 × A request was refused', '1 × A pass failed']
    const reports = () => lines('warn').filter(({ message }) => message === STILL)
    await waitUntil('two reports', async () => reports().length >= 2)
    outages.comeBack()
    await waitUntil('the end', async () => lines('warn').at(-1)?.message === AGAIN)

    for (const line of lines('warn').slice(1)) expect(line).toMatchObject({ count: 3, names })
    expect(lines('error')).toEqual([])
    expect(lines('debug')).toMatchObject([
      { message: 'A pass failed', accountId: 'one' },
      { message: 'A request was refused' },
      { message: 'A request was refused' },
    ])
  })

  test('begins another outage after the end of one', async () => {
    using outages = openOutageLog()
    outages.comeBack()
    const ends = () => outages.lines('warn').filter(({ message }) => message === AGAIN)
    for (const count of [1, 2]) {
      outages.log.warn({ error: gone }, 'A request was refused')
      await waitUntil('the end', async () => ends().length === count)
    }
    expect(ends()).toMatchObject([{ count: 1 }, { count: 1 }])
    expect(outages.lines('warn')).toHaveLength(4)
  })

  test('writes whatever has another cause', () => {
    using outages = openOutageLog()
    const idle = new DatabaseError('terminating connection due to idle-in-transaction timeout', 1, 'error')
    idle.code = '25P03'
    outages.log.warn('Not ready')
    outages.log.warn({ error: new Error('No such table') }, 'A request failed')
    outages.log.error({ error: new DatabaseUnavailable(idle, false) }, 'A pass failed')
    outages.log.info({ error: gone }, 'A task is tried again')
    expect(outages.lines('warn', 'error', 'info').map(({ message }) => message)).toEqual([
      'Not ready',
      'A request failed',
      'A pass failed',
      'A task is tried again',
    ])
  })
})
