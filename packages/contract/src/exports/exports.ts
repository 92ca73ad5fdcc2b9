import { z } from 'zod'
import { timestamp, uuid } from '../shapes.ts'

export const dataExport = z
  .object({
    id: uuid,
    accountId: uuid.nullable().describe('Null for an export of the tenant.'),
    accountEmail: z.string().nullable(),
    status: z.enum(['queued', 'running', 'completed', 'failed', 'expired']),
    bytes: z.int(),
    sha256: z
      .string()
      .nullable()
      .describe('The SHA-256 of the file, in hexadecimal digits; null until the file is complete.'),
    contents: z.record(z.string(), z.int()).describe('How many items of each kind it holds.'),
    error: z.string().nullable(),
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    completedAt: timestamp.nullable(),
    expiresAt: timestamp.nullable().describe('When the file is deleted.'),
  })
  .meta({ id: 'Export' })
export type DataExport = z.infer<typeof dataExport>

const announced = z.object({ export: dataExport })

/** What the events `export.*` announce. */
export const announcedExports = { 'export.completed': announced, 'export.failed': announced }
