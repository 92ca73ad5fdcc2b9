import { z } from 'zod'
import { operation } from '../operation.ts'

const limit = z.int().nullable()

/** The parts of the service that a plan includes or leaves out. */
export const planModule = z.enum(['calendar', 'contacts', 'tracking', 'ai', 'meetings', 'sharedMailboxes'])

export const planLimits = z
  .object({
    maxAccounts: limit.describe('Accounts that are not deleted, whatever their status; null: unlimited.'),
    sendsPerDay: limit.describe('Messages that may be queued on one day in UTC; null: unlimited.'),
    webhookEndpoints: limit.describe(
      'Webhook endpoints, disabled ones included; null: as many as the service allows.',
    ),
    storageBytes: limit.describe('Bytes of stored bodies; null: unlimited.'),
    bodyStorageAllowed: z.boolean().describe('Whether `bodyStorage` may be `cache` or `full`.'),
    apiCallsPerMinute: limit.describe('Requests of the tenant in one minute; null: unlimited.'),
    apiCallsPerMinutePerKey: limit.describe('Requests of one credential in one minute; null: unlimited.'),
    modules: z.array(planModule).describe('Modules that the plan includes besides mail.'),
    included: z
      .null()
      .describe('Usage that a base fee covers. Null: the operator does not bill by the service.'),
    pricing: z.null().describe('Prices. Null: the operator does not bill by the service.'),
  })
  .meta({ id: 'PlanLimits' })

const count = z.int().min(0)

export const usageDay = z
  .object({
    date: z.iso.date().describe('The day in UTC.'),
    liveAccounts: count.describe('The most active accounts at one time, sampled every ten minutes.'),
    apiCalls: z
      .object({ read: count, write: count, send: count, admin: count })
      .describe('Requests that were within the request limits, by the scope of their operation.'),
    sends: count.describe('Messages that were delivered to the provider.'),
    webhookDeliveries: count.describe('Deliveries that were acknowledged, replays included, tests not.'),
    aiCalls: count.describe('Calls of language models.'),
    storedBytes: count
      .nullable()
      .describe(
        'Bytes of stored bodies at the end of the day; null until they were listed, soon after its end.',
      ),
  })
  .meta({ id: 'UsageDay' })

export const usageReport = z
  .object({
    plan: z.object({
      id: z.uuid().nullable().describe('Null: the tenant has no plan.'),
      name: z.string().describe('`Platform defaults` without a plan.'),
      limits: planLimits,
    }),
    current: z.object({
      accounts: count.describe('Accounts that are not deleted, whatever their status.'),
      webhookEndpoints: count,
      sendsToday: count.describe('Messages that were queued today in UTC.'),
      storedBytes: count.describe('Bytes of stored bodies.'),
    }),
    days: z.array(usageDay).describe('Oldest first. Days without usage are left out.'),
  })
  .meta({ id: 'UsageReport' })
export type UsageReport = z.infer<typeof usageReport>

const day = z.iso.date('must be a date such as 2026-01-31')

export const usage = {
  get: operation({
    method: 'GET',
    path: '/v1/usage',
    scope: 'read',
    summary: 'Read the plan, its limits, and what is used.',
    description:
      'Without `from` and `to`, the days are the last 30, today included. `from` alone runs to today; `to` alone means ' +
      'the 30 days that end with it. A range has at most 366 days. Usage is kept for 400 days.',
    refuses: ['invalid_range'],
    query: z.strictObject({
      from: day.optional().describe('The first day, in UTC.'),
      to: day.optional().describe('The last day, in UTC.'),
    }),
    output: usageReport,
  }),
}
