import { describe, expect, test } from 'vitest'
import { judge } from './judge.ts'
import { addRequest, PLANTED, removeWebhook } from './planted-faults.ts'
import { PLANTED_AT_BOOKS } from './planted-contact-faults.ts'
import { PLANTED_IN_CALENDARS } from './planted-calendar-faults.ts'
import { PLANTED_AT_GRAPH } from './planted-graph-faults.ts'
import {
  sampleEvent,
  sampleEvidence,
  type SampleEvidence,
  sampleSession,
  sampleStop,
} from './sample-evidence.ts'

describe('the judge of a run', () => {
  test('finds nothing where every promise was kept', () => {
    expect(judge(sampleEvidence())).toEqual([])
  })

  test.each([...PLANTED, ...PLANTED_AT_GRAPH, ...PLANTED_AT_BOOKS, ...PLANTED_IN_CALENDARS])(
    'reports a violation of %s: %s',
    (invariant, _, plant, message) => {
      const evidence = sampleEvidence()
      plant(evidence)
      const violations = judge(evidence)
      expect(violations).toContainEqual({ invariant, message: expect.stringMatching(message) })
    },
  )

  test.each<[string, (evidence: SampleEvidence) => void]>([
    [
      'two sessions while one of both processes is stopped',
      ({ history }) => {
        history.push(sampleSession({ process: 'three', from: 30_000, at: 45_000 }))
        history.push(sampleStop('three', 31_000, 44_000))
      },
    ],
    [
      'an event that waits for an endpoint',
      ({ history, end }) => {
        removeWebhook(history, '3')
        end.deliveries.push({ endpoint: 'e1', eventId: '3', isDue: true })
      },
    ],
    [
      'an event from the time when an endpoint was disabled',
      ({ history, end }) => {
        removeWebhook(history, '3')
        end.endpoints[0]!.isSteady = false
      },
    ],
    [
      'a change after one whose outcome is unknown',
      ({ history, end }) => {
        const mark = { accountId: 'account-1', subject: 'one', field: 'isRead', value: false } as const
        addRequest(history, 'r6', { method: 'PATCH', status: null, outcome: 'unknown', mark })
        end.flags[0]!.isRead = false
      },
    ],
    [
      'a window with too many requests whose count was lost',
      ({ history }) => {
        const window = { limit: 2, remaining: 1, resetSeconds: 58 }
        addRequest(history, 'limited 2', { actor: 'limited client', method: 'GET', window })
        history.push({ ...sampleStop('one', 1_000, 1_500), kind: 'redis_flushed', process: null })
      },
    ],
    [
      'a time without an owner in which the database was stopped',
      ({ history, end }) => {
        history.push({ ...sampleStop('one', 6_000, 30_000), kind: 'database_stopped', process: null })
        end.owners[1]!.at = 5_000
        end.owners[2]!.at = 66_000
        end.owners[3]!.at = 67_000
      },
    ],
    [
      'a send with an unknown outcome whose copy turned up',
      ({ end }) => {
        end.transitions.push({
          kind: 'outbox',
          id: 'send-2',
          from: 'failed',
          to: 'sent',
          reason: 'outcome_unknown',
        })
        end.outbox[1]!.status = 'sent'
        const event = sampleEvent('8', 'send.sent', end.feed[5]!.data)
        end.feed.push(event)
        end.events.push({ id: '8', type: event.type, accountId: 'account-1', createdAt: 8 })
        end.deliveries.push({ endpoint: 'e1', eventId: '8', isDue: true })
        end.endpoints[0]!.isSteady = false
      },
    ],
  ])('accepts %s', (_, plant) => {
    const evidence = sampleEvidence()
    plant(evidence)
    expect(judge(evidence).filter(({ invariant }) => invariant !== 'I1')).toEqual([])
  })
})
