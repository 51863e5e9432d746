"""Writes ports_names.txt: values of jax.numpy with options that ported programs use (vectors of two numbers, second
sets of variables, weights, ends, distinct slices, sparse grids) that tests/laws/names_test.cpp compares with, in the
form of numpy_names.txt.

  python make_ports_names.py > ports_names.txt
"""
import jax
import jax.numpy as jnp
import numpy as np
from make_numpy_names import case

x = np.round(3 * np.sin(1.7 * np.arange(12) + 0.3), 3).reshape(3, 4)
y = np.round(2 * np.cos(0.9 * np.arange(12)), 3).reshape(3, 4)
whole = np.array([[3, -1, 4], [1, 5, 9]], np.int32)
nan = np.nan


def differences():
    case("diff/prepend", lambda a: jnp.diff(a, prepend=2.5), x)
    case("diff/append", lambda a, b: jnp.diff(a, append=b), x, y[:, :2])
    case("diff/ends", lambda a, b: jnp.diff(a, 2, axis=0, prepend=b, append=-1.), x, y[:2])
    case("diff/scalar_array", lambda a, b: jnp.diff(a, prepend=b), x, y[0, 0])
    case("diff/whole", lambda a: jnp.diff(a, prepend=0, append=7), whole)
    case("diff/flags", lambda a: jnp.diff(a, prepend=True), x > 0)
    case("diff/none", lambda a: jnp.diff(a, 0, prepend=1.), x)
    case("diff/from_nothing", lambda a: jnp.diff(a, prepend=1., append=4.), np.zeros((2, 0)))


def products():
    case("cross/plane", jnp.cross, x[:, :2], y[:, :2])
    case("cross/plane_one", jnp.cross, x[0, :2], y[:, :2])
    case("cross/plane_space", jnp.cross, x[:, :2], y[:, :3])
    case("cross/space_plane", jnp.cross, x[:, :3], y[0, :2])
    case("cross/plane_axis", lambda a, b: jnp.cross(a, b, axis=0), x[:2], y[:2])
    case("cross/plane_space_axis", lambda a, b: jnp.cross(a, b, axis=0), x[:2], y[:3])
    case("cross/whole", jnp.cross, whole[:, :2], whole[:, 1:])
    case("cross/axes", lambda a, b: jnp.cross(a, b, axisa=0, axisb=1, axisc=0), x[:, :3], y[:, :3])
    case("cross/axes_last", lambda a, b: jnp.cross(a, b, axisa=0), x, y[:2, :3].repeat(2, 0))


def covariances():
    often, much = np.array([2, 1, 0, 3], np.int32), np.array([0.5, 2., 1., 0.25])
    case("cov/two", jnp.cov, x, y)
    case("cov/two_vectors", jnp.cov, x[0], y[0])
    case("cov/two_columns", lambda a, b: jnp.cov(a, b, rowvar=False), x, y[:, :2])
    case("cov/vector_columns", lambda a: jnp.cov(a, rowvar=False), x[0])
    case("cov/one_row", jnp.cov, x[:1])
    case("cov/bias", lambda a: jnp.cov(a, bias=True), x)
    case("cov/ddof", lambda a: jnp.cov(a, bias=True, ddof=2), x)
    case("cov/whole", jnp.cov, whole.astype(float))
    case("cov/one_observation", lambda a: jnp.cov(a, ddof=0), x[:, :1])
    case("cov/no_observations", jnp.cov, x[:, :0])
    case("cov/fweights", lambda a, w: jnp.cov(a, fweights=w), x, often)
    case("cov/aweights", lambda a, w: jnp.cov(a, aweights=w), x, much)
    case("cov/aweights_bias", lambda a, w: jnp.cov(a, aweights=w, bias=True), x, much)
    case("cov/weights", lambda a, b, w: jnp.cov(a, b, fweights=often, aweights=w), x, y, much)
    case("cov/weights_ddof", lambda a, w, f: jnp.cov(a, fweights=f, aweights=w, ddof=0), x, much, often)
    case("corrcoef/two", jnp.corrcoef, x, y)
    case("corrcoef/two_columns", lambda a, b: jnp.corrcoef(a, b, rowvar=False), x, y[:, :2])
    case("corrcoef/one_row", jnp.corrcoef, x[:1])



def unique(a, axis, size=None, fill=None, equal_nan=True):
    return jnp.unique(a, True, True, True, axis, equal_nan=equal_nan, size=size, fill_value=fill)


def sets():
    rows = np.array([[1., 2., 0.], [0., 5., 1.], [1., 2., 0.], [0., 4., 9.], [0., 5., 1.]])
    holes = np.array([[nan, 1.], [2., nan], [nan, 1.], [2., 3.], [2., nan]])
    cube = np.array([[[1, 0], [2, 2]], [[1, 0], [2, 1]], [[1, 0], [2, 2]]], np.int32)
    case("unique/rows", lambda a: jnp.unique(a, axis=0), rows)
    case("unique/columns", lambda a: jnp.unique(a, axis=-1), rows[:, [0, 1, 0, 2]])
    case("unique/rows_size", lambda a: jnp.unique(a, axis=0, size=4), rows)
    case("unique/rows_cut", lambda a: jnp.unique(a, axis=0, size=2), rows)
    case("unique/rows_fill", lambda a: jnp.unique(a, axis=0, size=5, fill_value=-3), rows)
    case("unique/vector_axis", lambda a: jnp.unique(a, axis=0), rows[:, 1])
    case("unique/many_nan", lambda a: jnp.unique(a, equal_nan=False), holes)
    case("unique_all/rows", lambda a: unique(a, 0), rows)
    case("unique_all/rows_size", lambda a: unique(a, 0, 4, 7), rows)
    case("unique_all/cube", lambda a: unique(a, 0), cube)
    case("unique_all/cube_inside", lambda a: unique(a, 1, 3), cube)
    case("unique_all/flags", lambda a: unique(a, 0), rows > 1)
    case("unique_all/holes", lambda a: unique(a, 0), holes)
    case("unique_all/many_nan", lambda a: unique(a, 0, equal_nan=False), holes)
    case("unique_all/of_nothing", lambda a: unique(a, 0), rows[:, :0])
    case("unique_all/size", lambda a: unique(a, None, 8), rows[:, :2])
    case("meshgrid/xy", lambda a, b: jnp.meshgrid(a, b), x[0], y[:, 0])
    case("meshgrid/ij", lambda a, b: jnp.meshgrid(a, b, indexing="ij"), x[0], y[:, 0])
    case("meshgrid/sparse", lambda a, b: jnp.meshgrid(a, b, sparse=True), x[0], y[:, 0])
    case("meshgrid/sparse_ij", lambda *v: jnp.meshgrid(*v, sparse=True, indexing="ij"), x[0], y[:, 0], x[1, :2])
    case("meshgrid/three", lambda a, b, c: jnp.meshgrid(a, b, c), x[0], y[:, 0], x[1, :2])
    case("meshgrid/one", lambda a: jnp.meshgrid(a, sparse=True), x[0])


def running():
    case("lax::cumsum", lambda a: jax.lax.cumsum(a, 1), x)
    case("lax::cumsum/reverse", lambda a: jax.lax.cumsum(a, 1, reverse=True), x)
    case("lax::cumprod", lambda a: jax.lax.cumprod(a, 1), x)
    case("lax::cumprod/reverse", lambda a: jax.lax.cumprod(a, 0, reverse=True), x)


def images():
    image = np.round(np.sin(1.3 * np.arange(60)) * 2, 3).reshape(6, 5, 2)
    sizes = {"up": (9, 8, 2), "down": (3, 2, 2), "mixed": (4, 11, 2), "one": (1, 1, 2), "same": (6, 5, 2)}
    for method in ("nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"):
        name = "image::resize/" + method.replace("-", "_")
        for word, size in sizes.items():
            case(f"{name}/{word}", lambda a: jax.image.resize(a, size, method), image)
        case(f"{name}/rough", lambda a: jax.image.resize(a, (3, 8, 3), method, antialias=False), image)
        if method == "nearest":
            continue
        moved = "image::scale_and_translate/" + method.replace("-", "_")
        scale, by = np.array([1.31, 0.57]), np.array([0.42, -0.83])
        for word, smooth in ("", True), ("/rough", False):
            case(moved + word, lambda a, s, t: jax.image.scale_and_translate(
                a, (5, 7, 2), (0, 1), s, t, method, antialias=smooth), image, scale, by)
    case("image::resize/whole", lambda a: jax.image.resize(a, (3, 3), "nearest"), whole)
    line = image[:1, :, 0].T
    case("image::resize/line", lambda a: jax.image.resize(a, (7, 1), "cubic-pytorch", antialias=False), line)
    case("image::scale_and_translate/none", lambda a: jax.image.scale_and_translate(
        a, (6, 5, 2), (), np.zeros(0), np.zeros(0), "linear"), image)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print("# jax", jax.__version__, "numpy", np.__version__)
    differences()
    products()
    covariances()
    sets()
    running()
    images()
