import { describe, expect, test } from 'vitest'
import { Secret } from './secret.ts'
import { type LogFields, type LogFormat, openLog } from './log.ts'

function openCollectingLog(format: LogFormat = 'json') {
  const lines: string[] = []
  return { lines, log: openLog({ level: 'debug', format, destination: { write: line => lines.push(line) } }) }
}

describe('openLog', () => {
  test('writes one JSON object per line, with level, time and message', () => {
    const { lines, log } = openCollectingLog()
    log.info({ accountId: 'a1', count: 3 }, 'Synced')

    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      accountId: 'a1',
      count: 3,
      message: 'Synced',
    })
  })

  test('leaves out every field that is not on its list', () => {
    const { lines, log } = openCollectingLog()
    const careless: LogFields = Object.assign({ accountId: 'a1' }, { subject: 'canary', password: 'canary' })
    log
      .child(careless)
      .warn({ ...careless, error: Object.assign(new Error('no'), { detail: 'canary' }) }, 'Failed')

    expect(lines.join('')).not.toContain('canary')
    expect(lines.join('')).toContain('"accountId":"a1"')
  })

  test.each(['json', 'pretty'] as const)('writes no credential in %s, in any field', format => {
    const { lines, log } = openCollectingLog(format)
    const key = 'wk_0197_c2VjcmV0LWNhbmFyeQ'
    const error = new Error(`refused ${key}`, {
      cause: new Error(`postgres://ada:canary@db/x and Bearer ${key}`),
    })
    log.error({ error, reason: key, names: [key] }, `Failed with ${key}`)
    log.error(`Failed with ${key}`)
    log.info(Object.assign({}, { reason: new Secret('canary') as unknown as string }), 'A secret')

    expect(lines.join('')).not.toMatch(/c2VjcmV0|canary/)
    expect(lines.join('')).toContain('wk_[redacted]')
  })

  test('writes lines for people when asked', () => {
    const { lines, log } = openCollectingLog('pretty')
    log.info({ address: 'http://127.0.0.1:8025' }, 'Listening')

    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d INFO {2}Listening address=http:\/\/127.0.0.1:8025\n$/)
  })
})
