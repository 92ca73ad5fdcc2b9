import { readFileSync } from 'node:fs'
import { EVENT_TYPES } from '@waxwing/contract/events.ts'
import { isReason, reasons } from '@waxwing/contract/reasons.ts'
import { describe, expect, test } from 'vitest'
import { openapiDocument } from '../../../scripts/openapi-document.ts'

const FILE = new URL('../../contract/openapi.json', import.meta.url)

interface Described {
  operationId: string
  'x-scope': string
  'x-error-reasons': string[]
  responses: Record<string, unknown>
}

// The document is JSON; these are the parts of it that are looked at.
const document = JSON.parse(readFileSync(FILE, 'utf8')) as {
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, { enum?: string[] }> }
}
const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))

describe('packages/contract/openapi.json', () => {
  test('is what the contract gives; otherwise run `npm run openapi`', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(openapiDocument())))
  })

  test('refers only to what it holds', () => {
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

  test('names every type of event', () => {
    expect(document.components.schemas['EventType']?.enum).toEqual([...EVENT_TYPES])
    expect(EVENT_TYPES).toHaveLength(39)
    expect(Object.keys(reasons)).toHaveLength(190)
  })
})
