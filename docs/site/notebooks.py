"""Turns notebooks with stored outputs into pages: cells as Markdown, pictures as files."""
import base64
import json
import os


def text_of(lines):
    """A text of a notebook, which stores it as one string or as a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def fenced(words, text):
    return f"```{words}\n{text.rstrip()}\n```\n"


def pages_of_output(output, picture):
    """Markdown of an output; picture(bytes) stores a PNG and returns its address."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![Figure of the notebook]({picture(base64.b64decode(text_of(data['image/png'])))})\n"
    text = text_of(output.get("text", data.get("text/plain", "")))
    return fenced("text", text) if text.strip() else ""


def convert(path, folder):
    """
    Returns a notebook as Markdown.  Its pictures go to FOLDER/notebooks, by the names NOTEBOOK-1.png and so on.
    """
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    name, count, parts = os.path.splitext(os.path.basename(path))[0], 0, []
    os.makedirs(os.path.join(folder, "notebooks"), exist_ok=True)

    def picture(content):
        nonlocal count
        count += 1
        address = f"notebooks/{name}-{count}.png"
        with open(os.path.join(folder, address), "wb") as file:
            file.write(content)
        return address

    for cell in cells:
        source = text_of(cell["source"])
        parts.append(fenced("python", source) if cell["cell_type"] == "code" else source + "\n")
        parts += [pages_of_output(output, picture) for output in cell.get("outputs", [])]
    return "\n".join(part for part in parts if part)
