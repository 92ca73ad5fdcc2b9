import type { Template, TemplateSummary } from '@waxwing/contract/sending/templates.ts'
import type { SummaryRow, TemplateRow } from './store.ts'

export function presentSummary(row: SummaryRow): TemplateSummary {
  const { id, accountId, name, description, source, externalRef, created_at, updatedAt } = row
  return {
    id,
    accountId,
    name,
    description,
    source,
    externalRef,
    createdAt: created_at.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}

export function presentTemplate(row: TemplateRow): Template {
  const { subject, html, text, previewText, format } = row
  return { ...presentSummary(row), subject, html, text, previewText, format }
}
