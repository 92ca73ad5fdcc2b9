import { readFileSync } from 'node:fs'
import { mergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { outboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sendTracking } from '@waxwing/contract/sending/tracking.ts'
import { renderedTemplate, template, templateSummary } from '@waxwing/contract/sending/templates.ts'
import {
  suppressionEntry,
  suppressionList,
  suppressionReview,
} from '@waxwing/contract/sending/suppressions.ts'
import { account } from '@waxwing/contract/accounts/accounts.ts'
import { calendarEvent, calendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import { calendar } from '@waxwing/contract/calendars/calendars.ts'
import { meetingConnection } from '@waxwing/contract/calendars/meetings.ts'
import { contact } from '@waxwing/contract/contacts/contacts.ts'
import { dataExport } from '@waxwing/contract/exports/exports.ts'
import { booking } from '@waxwing/contract/scheduling/bookings.ts'
import { foundServers } from '@waxwing/contract/accounts/autoconfig.ts'
import { contract } from '@waxwing/contract/contract.ts'
import { EVENT_TYPES, changeEvent, eventData } from '@waxwing/contract/events.ts'
import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { bodyExamples, schemaExamples } from '@waxwing/contract/examples.ts'
import { identity, signature } from '@waxwing/contract/mail/identities.ts'
import { accountMailSettings } from '@waxwing/contract/mail/mail-settings.ts'
import { mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { message, messageSummary } from '@waxwing/contract/mail/messages.ts'
import { isReason, reasons } from '@waxwing/contract/reasons.ts'
import { searchResult } from '@waxwing/contract/mail/search.ts'
import { tenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { address } from '@waxwing/contract/shapes.ts'
import { thread, threadSummary } from '@waxwing/contract/mail/threads.ts'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openapiDocument } from '../../../scripts/openapi-document.ts'

const FILE = new URL('../../contract/openapi.json', import.meta.url)

interface Described {
  operationId: string
  'x-scope': string
  'x-error-reasons': string[]
  responses: Record<string, unknown>
  parameters?: { name?: string; description?: string; $ref?: string }[]
}

// This type covers the parts of the document that are read here.
const document = JSON.parse(readFileSync(FILE, 'utf8')) as {
  paths: Record<string, Record<string, Described>>
  webhooks: Record<string, unknown>
  components: { schemas: Record<string, { enum?: string[] }> }
}
const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))

describe('packages/contract/openapi.json', () => {
  test('matches the contract; otherwise run `npm run openapi`', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(openapiDocument())))
  })

  test('refers only to components that exist', () => {
    const text = JSON.stringify(document)
    const targets = new Set([...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, target = '']) => target))
    expect(targets.size).toBeGreaterThan(10)
    for (const target of targets) {
      const found = target.split('/').reduce<unknown>((at, name) => Object(at)[name], document)
      expect({ target, isFound: found !== undefined }).toEqual({ target, isFound: true })
    }
  })

  test('describes an answer for the status of each reason that an operation declares', () => {
    for (const { operationId, 'x-error-reasons': declared, responses } of operations) {
      for (const reason of declared) {
        const status = isReason(reason) ? reasons[reason].status : null
        expect({ operationId, reason, isDescribed: String(status) in responses }).toMatchObject({
          isDescribed: true,
        })
      }
    }
  })

  test('gives each operation a scope and a name of its own', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const operation of operations) {
      expect(['read', 'write', 'send', 'admin', 'none']).toContain(operation['x-scope'])
    }
  })

  test('describes each parameter; otherwise give it a `.describe(…)`', () => {
    const silent = operations.flatMap(({ operationId, parameters = [] }) =>
      parameters
        .filter(({ $ref, description }) => $ref === undefined && !description)
        .map(({ name }) => `${operationId}: ${name}`),
    )
    expect(silent).toEqual([])
  })

  test('has examples that fit their schemas', () => {
    const schemas = {
      Account: account,
      Address: address,
      Autoconfig: foundServers,
      Booking: booking,
      Calendar: calendar,
      CalendarEvent: calendarEvent,
      CalendarEventWithBody: calendarEventWithBody,
      ChangeEvent: changeEvent,
      Contact: contact,
      Export: dataExport,
      Identity: identity,
      MailMergeItem: mergeItem,
      MailSettings: accountMailSettings,
      Mailbox: mailbox,
      MeetingConnection: meetingConnection,
      Message: message,
      MessageSummary: messageSummary,
      OutboxEntry: outboxEntry,
      RenderedTemplate: renderedTemplate,
      SearchResult: searchResult,
      SendTracking: sendTracking,
      Signature: signature,
      SuppressionEntry: suppressionEntry,
      SuppressionList: suppressionList,
      SuppressionReview: suppressionReview,
      Template: template,
      TemplateSummary: templateSummary,
      TenantSettings: tenantSettings,
      Thread: thread,
      ThreadSummary: threadSummary,
    }
    expect(Object.keys(schemaExamples).toSorted()).toEqual(Object.keys(schemas))
    for (const [name, schema] of Object.entries(schemas)) {
      expect({ name, read: schema.parse(schemaExamples[name]) }).toEqual({ name, read: schemaExamples[name] })
    }
  })

  test('has example bodies that would be accepted', () => {
    const sections: Record<string, Record<string, { '~orpc': { inputSchema?: unknown } }>> = contract
    for (const [operationId, example] of Object.entries(bodyExamples)) {
      const [section = '', name = ''] = operationId.split('.')
      const input = sections[section]?.[name]?.['~orpc'].inputSchema
      if (!(input instanceof z.ZodObject)) throw new Error(`There is no operation ${operationId}`)
      expect({ operationId, ...z.safeParse(input.shape['body'], example) }).toMatchObject({ success: true })
    }
  })

  test('has a sample of each type of event that fits its schema', () => {
    for (const type of EVENT_TYPES) {
      expect({ type, read: eventData[type].parse(eventSamples[type]) }).toEqual({
        type,
        read: eventSamples[type],
      })
    }
  })

  test('describes the delivery of each type of event', () => {
    expect(Object.keys(document.webhooks)).toEqual([...EVENT_TYPES])
    for (const type of EVENT_TYPES) {
      const schema = { $ref: `#/components/schemas/ChangeEvent.${type}` }
      expect(document.webhooks[type]).toMatchObject({
        post: { requestBody: { content: { 'application/json': { schema } } } },
      })
    }
  })

  test('names every type of event', () => {
    expect(document.components.schemas['EventType']?.enum).toEqual([...EVENT_TYPES])
    expect(EVENT_TYPES).toHaveLength(39)
    expect(Object.keys(reasons)).toHaveLength(190)
  })
})
