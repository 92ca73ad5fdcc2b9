import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { contentLimitsOf } from '../content-limits.ts'
import type { Cloud } from '../sign-in.ts'
import { CLOUDS } from './clouds.ts'

const schema = z.object({
  createUploadSession: z.array(z.string()),
  permanentDelete: z.array(z.string()),
  delta: z.array(z.string()),
  hasMasterCategories: z.boolean(),
})
const extract = z
  .object({ schemas: z.record(z.string(), schema) })
  .parse(JSON.parse(readFileSync(path.join(import.meta.dirname, 'csdl-extract.json'), 'utf8')))

/** The published schema of each cloud. That of the American government serves both of its clouds. */
const SCHEMA_OF: Readonly<Record<Cloud, string>> = {
  global: 'Prod',
  'gcc-high': 'Fairfax',
  dod: 'Fairfax',
  china: 'Mooncake',
}

describe.each(Object.values(CLOUDS))('the cloud $cloud', row => {
  test('has what its published schema has', () => {
    const published = extract.schemas[SCHEMA_OF[row.cloud]]
    expect(row.has).toEqual({
      uploadSessions: published?.createUploadSession.includes('Collection(graph.attachment)'),
      permanentDelete: published?.permanentDelete.includes('graph.message'),
      messageDelta: published?.delta.includes('Collection(graph.message)'),
      folderDelta: published?.delta.includes('Collection(graph.mailFolder)'),
      contactDelta: published?.delta.includes('Collection(graph.contact)'),
      masterCategories: published?.hasMasterCategories,
    })
  })

  test('limits the parts of a message only if they cannot be uploaded in ranges', () => {
    const limits = contentLimitsOf({ provider: 'graph', cloud: row.cloud })
    expect(limits?.partBytesMax === null).toBe(row.has.uploadSessions)
    expect(row.uploads.length > 0).toBe(row.has.uploadSessions)
  })
})

test('each cloud has a Graph host of its own, and personal accounts sign in to one', () => {
  const rows = Object.entries(CLOUDS)
  expect(rows.every(([name, { cloud }]) => name === cloud)).toBe(true)
  expect(new Set(rows.map(([, { graph }]) => graph)).size).toBe(rows.length)
  expect(rows.filter(([, row]) => row.hasPersonalAccounts).map(([name]) => name)).toEqual(['global'])
  expect(rows.every(([, row]) => row.hasPersonalAccounts === (row.tenant === 'common'))).toBe(true)
})
