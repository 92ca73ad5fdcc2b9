import { z } from 'zod'
import { timestamp, uuid } from '../shapes.ts'

export const contact = z
  .object({
    id: uuid,
    folderId: uuid.nullable(),
    displayName: z.string().nullable(),
    givenName: z.string().nullable(),
    middleName: z.string().nullable(),
    familyName: z.string().nullable(),
    nickname: z.string().nullable(),
    organization: z.string().nullable(),
    jobTitle: z.string().nullable(),
    department: z.string().nullable(),
    emails: z.array(z.object({ address: z.string(), type: z.enum(['home', 'work', 'other']) })),
    phones: z.array(
      z.object({
        number: z.string(),
        type: z.enum(['mobile', 'home', 'work', 'main', 'fax', 'pager', 'other']),
      }),
    ),
    birthday: z
      .string()
      .regex(/^(\d{4}-|--)\d{2}-\d{2}$/)
      .nullable()
      .describe('`--MM-DD` without a year.'),
    notes: z.string().nullable(),
    hasPhoto: z.boolean().nullable().describe('Null while it is not known.'),
    updatedAt: timestamp,
  })
  .meta({ id: 'Contact' })
export type Contact = z.infer<typeof contact>

/** The values of `changes` in `contact.updated`. */
export const contactChange = contact.omit({ id: true }).keyof()

/** What the events `contacts.*` and `contact.*` announce. */
export const announcedContacts = {
  'contacts.initialized': z.object({ folders: z.int(), contacts: z.int() }),
  'contact.created': z.object({ contact }),
  'contact.updated': z.object({ contact, changes: z.array(contactChange) }),
  'contact.deleted': z.object({ contact: contact.describe('As last indexed.') }),
}
