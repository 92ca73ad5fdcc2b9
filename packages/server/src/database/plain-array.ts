/**
 * An array as PostgreSQL writes it, for a parameter. `pg` quotes and escapes each entry of an array, which took a tenth of
 * the time of the service while webhooks were delivered.
 * @param entries ids, numbers, truth values, words and times as in RFC 3339, which need no quotes
 */
export function plainArray(entries: ReadonlyArray<string | number | boolean | null>): string {
  return `{${entries.map(entry => entry ?? 'NULL').join(',')}}`
}
