import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')

const files = globSync(['*', '{bench,deploy,docs,scripts,packages}/**/*'], {
  cwd: ROOT,
  exclude: ({ name }) => name === 'node_modules' || name === 'dist' || name === 'data',
  withFileTypes: true,
}).flatMap(entry => (entry.isFile() ? [path.relative(ROOT, path.join(entry.parentPath, entry.name))] : []))
const folders = [...new Set(files.flatMap(foldersOf))]
/** All files and folders, a line each. Folders end with a slash. */
const ALL = [...files, ...folders].map(each => `/${each}\n`).join('')

function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`)
}

/** Documents that describe the code as it is. */
const DOCUMENTS = files.filter(file => /^(?:docs\/.*|(?!CHANGELOG)\w+)\.md$/.test(file))
/** The folder of files that all documents may name alone, such as `wings.ts`. */
const TOP = 'packages/server/src/'
const ARCHITECTURE = 'docs/ARCHITECTURE.md'

/** Names with the form of a path that are not files of the repository. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'CONTRIBUTING.md': ['node_modules/.cache/statements-on-18-only.txt'],
  'docs/configuration.md': ['postgres/'], // in the data folder
  'docs/nemesis.md': ['end.json'], // in the folder of a run
  'docs/templates.md': ['../'], // in an example of a hostile template
  'docs/webhooks.md': ['body.json'], // in an example of curl
}

const PART = String.raw`[\w.<>*…-]+`
const PATH = new RegExp(String.raw`^${PART}(?:/${PART})*(?:\.(?:ts|js|md|json|sql|txt|sh|ya?ml)|/)$`)
const LINK = /\[(?<text>[^\]]+)\]\((?<target>[\w./-]+)(?:#[^)]*)?\)/g

/** The paths between backticks in a text, outside of its blocks of code. */
function pathsIn(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '')
  const quoted = [...prose.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words.replaceAll(/\s*\n\s*/g, ''))
  return quoted.filter(words => PATH.test(words))
}

/** The end of a path, in which `<wing>` is any name and `*` and `…` any part of one. */
const pattern = (named: string) =>
  named.replaceAll(/[.+]/g, String.raw`\$&`).replaceAll(/<\w+>|\*|…/g, String.raw`[^/\n]+`)

const findNamed = (named: string) =>
  [...ALL.matchAll(new RegExp(`^/((?:.*/)?${pattern(named)})$`, 'gm'))].map(([, found = '']) => found)

const read = (document: string) => readFileSync(path.join(ROOT, document), 'utf8')

describe('the paths that documents name', () => {
  test('are found', () => expect(pathsIn(read(ARCHITECTURE)).length).toBeGreaterThan(300))

  test('exist', () => {
    const missing = DOCUMENTS.flatMap(document =>
      pathsIn(read(document))
        .filter(named => !ELSEWHERE[document]?.includes(named) && findNamed(named).length === 0)
        .map(named => `${document}: ${named}`),
    )
    expect(missing).toEqual([])
  })

  test('stand at the top or in a folder that the same section of ARCHITECTURE names', () => {
    const sections = read(ARCHITECTURE).split(/^(?=## |\*\*[A-Z])/m)
    const astray = sections.flatMap(section => {
      const named = pathsIn(section)
      const within = new Set([
        TOP,
        ...named
          .filter(one => one.includes('/'))
          .flatMap(findNamed)
          .map(folderOf),
      ])
      return named
        .filter(one => !one.includes('/') && !findNamed(one).some(found => within.has(folderOf(found))))
        .map(one => `${section.split('\n')[0]}: ${one}`)
    })
    expect(astray).toEqual([])
  })

  test('are linked, decisions by their number', () => {
    const broken = DOCUMENTS.flatMap(document =>
      [...read(document).matchAll(LINK)]
        .map(({ groups }) => ({ text: groups?.['text'] ?? '', target: groups?.['target'] ?? '' }))
        .filter(({ text, target }) => {
          const found = path.join(path.dirname(document), target)
          const stated = /^(?:decision\s+)?(\d+)$/i.exec(text)?.[1]
          const number = /(?:^|\/)0*(\d+)-[^/]+$/.exec(target)?.[1]
          return !ALL.includes(`/${found}`) || (stated !== undefined && number !== stated)
        })
        .map(({ text, target }) => `${document}: [${text}](${target})`),
    )
    expect(broken).toEqual([])
  })
})

describe('the tree in ARCHITECTURE', () => {
  const tree = /^```\n(packages\/.*?)^```/ms.exec(read(ARCHITECTURE))?.[1] ?? ''
  const named = tree
    .split('\n')
    .flatMap(line => /^ *((?:[\w.<>/-]+, )*[\w.<>/-]+) /.exec(line)?.[1]?.split(', ') ?? [])
    .filter(words => PATH.test(words))

  test('names paths that exist', () => {
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter(one => findNamed(one).length === 0)).toEqual([])
  })

  test('names each room and each wing of the server, and each folder of the sandbox', () => {
    const rooms = folders.filter(folder =>
      /^packages\/(?:server\/src\/(?:features\/|(?!features\/))|sandbox\/src\/)[^/]+\/$/.test(folder),
    )
    const unnamed = rooms.filter(room => !named.some(one => room.endsWith(`/${one}`)))
    expect(unnamed).toEqual([])
  })
})

function folderOf(found: string): string {
  return found.endsWith('/') ? found : `${path.dirname(found)}/`
}
