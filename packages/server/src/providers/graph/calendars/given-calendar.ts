import { z } from 'zod'
import { id, pageSchema, text } from '../resources.ts'

const flag = z.boolean().nullish().catch(null)

/** A calendar (learn.microsoft.com/graph/api/resources/calendar), as far as it is read. */
const calendarSchema = z.object({
  id,
  name: text.catch(null),
  color: text.catch(null),
  hexColor: text.catch(null),
  isDefaultCalendar: flag,
  canEdit: flag,
  owner: z.object({ name: text, address: text }).nullish().catch(null),
})
export type GivenCalendar = z.infer<typeof calendarSchema>
export const calendarsSchema = pageSchema(calendarSchema)

/** The properties that are asked for. */
export const FIELDS = Object.keys(calendarSchema.shape).join(',')
