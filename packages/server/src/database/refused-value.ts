import { DatabaseError } from 'pg'

/** Conditions in which PostgreSQL cannot store a value, whenever it is asked to. */
const CODES: ReadonlySet<string> = new Set([
  // numeric_value_out_of_range
  '22003',
  // invalid_datetime_format, datetime_field_overflow, invalid_time_zone_displacement_value
  '22007',
  '22008',
  '22009',
  // character_not_in_repertoire, invalid_text_representation, untranslatable_character
  '22021',
  '22P02',
  '22P05',
  // program_limit_exceeded: such as a row of an index that is too large
  '54000',
])

/** Whether PostgreSQL refused a statement for one of its values. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof DatabaseError && CODES.has(error.code ?? '')
}
