import { isDeepStrictEqual } from 'node:util'
import type { TemplateField, TemplateFields } from '../../../kit/templating/template.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import type { TemplateContent } from './store.ts'

type Given<T> = { [K in keyof T]?: T[K] | null | undefined }

const EMPTY: TemplateContent = {
  name: '',
  description: null,
  source: 'handlebars',
  externalRef: null,
  subject: null,
  html: null,
  text: null,
  previewText: null,
  format: 'html',
}

/** A template after a change: the given fields replace those of `before`, which is null for a new template. */
export function planTemplate(before: TemplateContent | null, given: Given<TemplateContent>): TemplateContent {
  const base = before ?? EMPTY
  const chosen = Object.keys(EMPTY).map(key => {
    const name = key as keyof TemplateContent
    return [name, given[name] === undefined ? base[name] : given[name]]
  })
  // The keys are those of EMPTY, and only fields that may be null are given as null.
  return Object.fromEntries(chosen) as unknown as TemplateContent
}

export function differs(before: TemplateContent, after: TemplateContent): boolean {
  return !isDeepStrictEqual(planTemplate(before, {}), after)
}

/** The fields of a template, or of content that is rendered without one. */
export function toFields(
  given: Partial<Record<TemplateField, string | null | undefined>> & {
    format?: TemplateFields['format'] | null | undefined
  },
): TemplateFields {
  const { subject = null, html = null, text = null, previewText = null, format } = given
  return { subject, html, text, previewText, format: format ?? 'html' }
}

/** Bytes of the parameters, as JSON in UTF-8. */
const PARAMS_BYTES_MAX = 262_144

export type Params = Readonly<Record<string, unknown>>

/** The recipient of a send that names a suppression list. */
export interface Rcpt {
  unsubscribeUrl: string
  address: string
  name: string | null
}

/** The variables of a template, as JSON. Null if the parameters are too large. */
export function variablesOf(given: {
  params: Params | undefined
  account: Pick<AccountRow, 'email' | 'display_name'> | null
  rcpt?: Rcpt | undefined
}): string | null {
  const params = JSON.stringify(given.params ?? {})
  if (Buffer.byteLength(params) > PARAMS_BYTES_MAX) return null
  const { account, rcpt } = given
  const known = {
    account: { email: account?.email ?? '', name: account?.display_name ?? '' },
    rcpt: {
      unsubscribeUrl: rcpt?.unsubscribeUrl ?? '',
      address: rcpt?.address ?? '',
      name: rcpt?.name ?? '',
    },
  }
  return `{"params":${params},${JSON.stringify(known).slice(1)}`
}
