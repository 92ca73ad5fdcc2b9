import type { Migration } from '../src/database/migration-file.ts'

/** The file with a line for each migration: its name and its checksum. */
export const CHECKSUMS = new URL('./goldens/migrations.txt', import.meta.url)

type Checked = Pick<Migration, 'name' | 'checksum'>

/** Faults of the migrations, in words for their author, if these are the checksums that were committed. */
export function findChanged(committed: string, migrations: readonly Checked[]): string[] {
  const lines = linesOf(committed)
  const known = new Map(migrations.map(migration => [migration.name, migration.checksum]))
  const listed = new Set(lines.map(({ name }) => name))
  return [
    ...lines.flatMap(({ name, checksum }) => {
      if (!known.has(name)) return [`${name} is gone. Databases have it: put it back.`]
      if (known.get(name) === checksum) return []
      return [
        `${name} was changed. Databases that have it would refuse to start: take the change back, and make it in a new ` +
          'migration. If no other branch has this one yet, delete its line, and run "npm run tables".',
      ]
    }),
    ...migrations
      .filter(({ name }) => !listed.has(name))
      .map(({ name }) => `${name} has no line. Run "npm run tables".`),
  ]
}

/** The file with lines for new migrations. Existing lines stay as they are, even if a migration has changed. */
export function addChecksums(committed: string, migrations: readonly Checked[]): string {
  const lines = linesOf(committed)
  const listed = new Set(lines.map(({ name }) => name))
  const added = migrations.filter(({ name }) => !listed.has(name))
  const all = [...lines, ...added].map(({ name, checksum }) => `${name} ${checksum}\n`)
  return all.toSorted().join('')
}

function linesOf(text: string): Checked[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [name = '', checksum = ''] = line.split(' ')
      return { name, checksum }
    })
}
