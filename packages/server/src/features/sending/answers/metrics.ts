import { Counter, type Registry } from 'prom-client'
import type { BounceCounts } from '../bounces/record-bounces.ts'
import type { AnswerResult } from './record-answer.ts'

/**
 * Counts the results of answers to sends. @returns the function to call with each result, or with null for an
 * unreadable answer
 */
export function answerMetrics(
  metrics: Registry,
  onBounced: (counts: BounceCounts) => void,
): (result: AnswerResult | null) => void {
  const counter = (name: string, help: string, label: string) =>
    new Counter({ name, help, labelNames: [label], registers: [metrics] })
  const looks = counter(
    'waxwing_answers_total',
    'Messages that this process looked at because they may answer a send, by whether they could be read',
    'outcome',
  )
  const classified = counter(
    'waxwing_replies_classified_total',
    'Replies to sends that this process classified, by kind',
    'kind',
  )
  const complaints = new Counter({
    name: 'waxwing_complaints_total',
    help: 'Recipients whose complaints this process recorded',
    registers: [metrics],
  })
  return result => {
    looks.inc({ outcome: result ? 'read' : 'unreadable' })
    if (!result) return
    onBounced(result.bounces)
    complaints.inc(result.complaints)
    if (result.classified) classified.inc({ kind: result.classified })
  }
}
