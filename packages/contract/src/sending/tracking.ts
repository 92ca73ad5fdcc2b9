import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, pathId, timestamp } from '../shapes.ts'

export const machineReason = z
  .enum(['prefetch', 'scanner', 'honeypot', 'burst'])
  .describe(
    '`prefetch`: fetched before anybody read it; `scanner`: a program that examines mail, or no browser; ' +
      '`honeypot`: the link that only machines follow was followed at the same time; `burst`: more links at once than a person follows.',
  )

const isMachine = z.boolean().describe('Whether it was a program rather than a person.')
const ip = z.string().nullable().describe('Null unless the operator turned addresses on.')
const userAgent = z.string().nullable()

const counts = {
  count: z.int().describe('Of people.'),
  machineCount: z.int().describe('Of programs.'),
  firstAt: timestamp.nullable().describe('Of people.'),
  lastAt: timestamp.nullable().describe('Of people.'),
}

export const TRACKED_LINKS_SHOWN_MAX = 200
export const TRACKING_ITEMS_SHOWN_MAX = 200

export const sendTracking = z
  .object({
    trackOpens: z.boolean(),
    trackClicks: z.boolean(),
    opens: z.object(counts),
    clicks: z.object({
      ...counts,
      links: z
        .array(z.object({ url: z.string(), count: z.int().describe('Clicks of people.') }))
        .describe(`Links with most clicks first, at most ${TRACKED_LINKS_SHOWN_MAX}.`),
    }),
    items: z
      .array(
        z.object({
          type: z.enum(['open', 'click']),
          url: z.string().nullable().describe('Of a click.'),
          isMachine,
          ip,
          userAgent,
          occurredAt: timestamp,
        }),
      )
      .describe(`Newest first, at most ${TRACKING_ITEMS_SHOWN_MAX}.`),
  })
  .meta({ id: 'SendTracking' })
export type SendTracking = z.infer<typeof sendTracking>

/** Fields that events of opens and clicks have in common. */
export const trackedFacts = {
  isMachine,
  machineReason: machineReason.nullable(),
  ip,
  userAgent,
}

export const tracking = {
  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/outbox/{outboxId}/tracking',
    scope: 'read',
    accountToken: true,
    summary: 'Read the opens and clicks of a send.',
    description:
      'What came is judged after ten seconds and shown then. The same open or click of the same client within 30 ' +
      'seconds counts once. After 1,000 opens and clicks of a send only the counts grow.',
    refuses: ['account_not_found', 'send_not_found'],
    params: accountPath.extend({ outboxId: pathId.describe('The entry’s `id`.') }),
    output: sendTracking,
  }),
}
